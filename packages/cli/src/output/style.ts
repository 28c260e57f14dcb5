/** Colours, where there are any. */

type Paint = (text: string) => string;

export interface Style {
  bold: Paint;
  dim: Paint;
  red: Paint;
  green: Paint;
  yellow: Paint;
}

/** See https://no-color.org: any value but an empty one switches colours off. */
export function createStyle(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Style {
  const hasColours = isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  const paint =
    (begin: number, end: number): Paint =>
    (text) =>
      hasColours && text !== "" ? `\x1b[${begin}m${text}\x1b[${end}m` : text;
  return { bold: paint(1, 22), dim: paint(2, 22), red: paint(31, 39), green: paint(32, 39), yellow: paint(33, 39) };
}
