/** Fills the system prompt. */

/** The values of a template, by the names that stand in it. */
export interface PromptValues {
  /** Instructions: see `readInstructions`. */
  AGENTS_MD: string;
  PLATFORM: string;
  /** `yyyy-mm-dd`. */
  DATE: string;
  /** Absolute path of the Workspace. */
  CWD: string;
  MODEL_ID: string;
  SESSION_ID: string;
}

/** Each `{{NAME}}` becomes its value as it is: what a value holds is never read as a template. Other names stay. */
export function fillPromptTemplate(template: string, values: PromptValues): string {
  const known = new Map<string, string>(Object.entries(values));
  return template
    .replace(/\{\{([A-Z_]+)\}\}/g, (placeholder, name: string) => known.get(name) ?? placeholder)
    .trimEnd();
}
