/** What a person types while a Task runs is said to it, line by line. */
import type { Screen } from "../output/screen.ts";
import { inOneLine } from "../terminal-text.ts";
import type { Keyboard } from "./keyboard.ts";
import { TypedLine } from "./typed-line.ts";

export interface SteeringOptions {
  keyboard: Keyboard;
  screen: Screen;
  /** `false`: nobody will hear it. */
  steer: (text: string) => boolean;
}

const maxLength = 64 * 1024;

/** @returns Ends it. */
export function startSteering({ keyboard, screen, steer }: SteeringOptions): () => void {
  const { dim, yellow } = screen.style;
  const line = new TypedLine(maxLength);
  const say = (text: string): void => {
    const words = inOneLine(text);
    if (words === "") return;
    if (steer(text)) void screen.line(`${dim("[steer] goes with the next request:")} ${words}`);
    else void screen.line(`${yellow("[not sent]")} ${words}`);
  };
  /** Its end would be said to somebody else. */
  const drop = (): void => {
    const words = inOneLine(line.text);
    line.clear();
    screen.typing("");
    if (words !== "") void screen.line(`${yellow("[not sent]")} ${words}`);
  };
  const stop = keyboard.listen({
    keys: (text) => {
      // Several lines at once were pasted: one thing to say.
      const lines = line.type(text);
      screen.typing(inOneLine(line.text));
      say(lines.join("\n").trim());
    },
    covered: drop,
  });
  return () => {
    stop();
    drop();
  };
}
