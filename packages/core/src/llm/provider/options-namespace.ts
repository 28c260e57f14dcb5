/** The name under which a package reads its options: `openai.chat` and `openai.responses` both read `openai`. */
export function optionsNamespace(provider: string): string {
  return provider.replace(/\.[^.]*$/, "");
}
