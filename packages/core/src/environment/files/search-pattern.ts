/** Unicode-aware where the pattern allows it. @throws SyntaxError */
export function toExpression(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}
