/** Which models see images: the price list does not say it, so only families of which it is certain are named here. */

const edition = String.raw`(?:-latest|-\d{4}-\d{2}-\d{2})?`;

const sighted = [
  /^claude-(?:3|(?:opus|sonnet|haiku|fable)-\d|\d(?:[-.]\d)?-(?:opus|sonnet|haiku))/,
  new RegExp(`^(?:chatgpt-4o-latest|gpt-4o(?:-mini)?${edition}|gpt-4\\.1(?:-mini|-nano)?${edition})$`),
  new RegExp(`^gpt-5(?:[.-]\\d)?(?:-mini|-nano|-pro|-codex|-codex-mini|-codex-max|-chat)?${edition}$`),
  new RegExp(`^(?:o1|o1-pro|o3|o3-pro|o4-mini)${edition}$`),
  /^gemini-(?:1\.5|[23](?:\.\d)?)-(?:pro|flash|flash-lite)(?!.*-(?:tts|audio|live|image|embedding))/,
];

/**
 * `undefined` when it is not certain.
 *
 * @param modelId As its maker names it.
 */
export function seesImages(modelId: string): true | undefined {
  const id = modelId.toLowerCase();
  return sighted.some((pattern) => pattern.test(id)) ? true : undefined;
}
