/** Texts that must not get out, such as keys: which of them are looked for, and what stands in their place. */

/** What a reader sees instead of a secret. */
export const mask = "[redacted]";

/** Shorter ones would match ordinary words. */
const minSecretLength = 8;

/** Those of at least 8 characters, each once, longest first: one may be a part of another. */
export function usableSecrets(secrets: readonly string[]): string[] {
  return [...new Set(secrets)].filter((secret) => secret.length >= minSecretLength).sort((a, b) => b.length - a.length);
}

/** How keys look, whoever's they are. The first group stays. */
const keyForms: readonly RegExp[] = [
  /\b((?:bearer|basic)\s{1,8})[\w.~+/=-]{8,}/gi,
  /\b()(?:sk|pk|rk|gsk|xai|r8|nvapi|glpat|gh[pousr]|github_pat|xox[abeoprs])[-_][\w.*-]{6,}/gi,
  // Words of ordinary language unless a digit or a mask of somebody else's is in them.
  /\b()(?:ak|hf|key|tok)[-_](?=[\w.-]{0,200}[\d*])[\w.*-]{6,}/gi,
  /\b()AIza[\w-]{10,}/g,
  /\b()(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\b()eyJ[\w-]{10,2000}\.eyJ[\w-]{10,8000}\.[\w-]+/g,
  /()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  /([?&](?:api[-_]?key|key|token|access_token)=)[^&\s"']+/gi,
  /(:\/\/)[^/\s:@]{1,200}:[^/\s@]{1,500}(?=@)/g,
];

/**
 * The text without what looks like a key.
 *
 * @param onHidden Called for each one.
 */
export function hideKeyForms(text: string, onHidden?: () => void): string {
  return hideMatches(text, keyForms, onHidden);
}

/** What follows the kept first group becomes the mask. */
export function hideMatches(text: string, forms: readonly RegExp[], onHidden?: () => void): string {
  return forms.reduce(
    (hidden, form) =>
      hidden.replace(form, (_: string, kept: string) => {
        onHidden?.();
        return `${kept}${mask}`;
      }),
    text,
  );
}

/** JSON in JSON in JSON is as deep as arguments of tools were seen to go; a step more costs nothing. */
const maxQuotings = 4;

/** How else a secret can stand in a text: as JSON writes it, in an address, in base64 with others before and behind it. */
export function writtenForms(secret: string): string[] {
  const forms = [secret];
  for (let quotings = 0; quotings < maxQuotings; quotings += 1) {
    forms.push(JSON.stringify(forms.at(-1)).slice(1, -1));
  }
  forms.push(encodeURIComponent(secret.toWellFormed()));
  for (const before of [0, 1, 2]) {
    const inner = innerBase64(secret, before);
    forms.push(inner, inner.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return forms;
}

/** The digits that the secret alone decides. @param before Bytes in front of it, in the three that make four digits. */
function innerBase64(secret: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const first = Math.ceil((before * 8) / 6);
  return bytes.toString("base64").slice(first, Math.floor((bytes.length * 8) / 6));
}
