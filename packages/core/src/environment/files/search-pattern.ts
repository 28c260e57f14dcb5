/** Unicode-aware where the pattern allows it; `(?i)` and the like, as other languages write them, hold for all of it. @throws SyntaxError */
export function toExpression(pattern: string): RegExp {
  const [, flags = "", rest = pattern] = /^\(\?([ims]{1,3})\)(.*)$/s.exec(pattern) ?? [];
  try {
    return new RegExp(rest, `${flags}u`);
  } catch {
    return new RegExp(rest, flags);
  }
}
