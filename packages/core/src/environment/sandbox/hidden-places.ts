/** Where keys and passwords lie that a command has no use for, and doors to programs outside of the sandbox. */
import { join } from "node:path";

/** Below a person's home. */
const ofPerson = [
  ".ssh",
  ".gnupg",
  ".netrc",
  ".git-credentials",
  ".config/git/credentials",
  ".config/gh",
  ".config/glab-cli",
  ".config/hub",
  ".config/github-copilot",
  // Clouds and clusters.
  ".aws",
  ".azure",
  ".config/gcloud",
  ".config/doctl",
  ".config/hcloud",
  ".config/heroku",
  ".config/netlify",
  ".config/rclone",
  ".boto",
  ".s3cfg",
  ".databrickscfg",
  ".snowflake",
  ".kube",
  ".docker",
  ".config/containers",
  ".terraform.d",
  ".terraformrc",
  ".vault-token",
  ".config/sops",
  ".config/age",
  // Packages.
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".m2/settings.xml",
  ".m2/settings-security.xml",
  ".gradle/gradle.properties",
  ".composer/auth.json",
  ".config/composer/auth.json",
  // Databases.
  ".pgpass",
  ".my.cnf",
  ".mylogin.cnf",
  // Models, and agents like us.
  ".cache/huggingface/token",
  ".huggingface",
  ".kaggle",
  // Ours, also while another place is our home.
  ".coxswain",
  ".claude",
  ".claude.json",
  ".codex",
  ".gemini",
  // Password stores and browsers.
  ".password-store",
  ".config/op",
  ".1password",
  ".local/share/keyrings",
  ".local/share/kwalletd",
  ".mozilla",
  ".thunderbird",
  ".config/google-chrome",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  // What was typed.
  ".bash_history",
  ".zsh_history",
  ".local/share/fish/fish_history",
  ".python_history",
  ".node_repl_history",
  ".psql_history",
  ".mysql_history",
  ".viminfo",
];

/** What the superuser can read without any power over others. */
const ofMachine = [
  "/run",
  "/var/run",
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/ssh/ssh_host_rsa_key",
  "/etc/ssh/ssh_host_ecdsa_key",
  "/etc/ssh/ssh_host_ed25519_key",
];

export interface HiddenPlaces {
  /** What is around them is screened: they stay hidden although they are replaced, or come to be while a command runs. */
  screened: string[];
  others: string[];
}

/** @param homeDirs Of the person. */
export function hiddenPlaces(homeDirs: readonly string[]): HiddenPlaces {
  return { screened: homeDirs.flatMap((home) => ofPerson.map((name) => join(home, name))), others: ofMachine };
}

/** Variables that lead to programs outside; what they name is not there. */
export const hostVariables = [
  "SSH_AUTH_SOCK",
  "SSH_AGENT_PID",
  "GPG_AGENT_INFO",
  "DBUS_SESSION_BUS_ADDRESS",
  "DBUS_SYSTEM_BUS_ADDRESS",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "WAYLAND_SOCKET",
  "XAUTHORITY",
  "ICEAUTHORITY",
  "SESSION_MANAGER",
  "PULSE_SERVER",
  "PIPEWIRE_REMOTE",
  "DOCKER_HOST",
  "CONTAINER_HOST",
  "XDG_RUNTIME_DIR",
  "NOTIFY_SOCKET",
  "LISTEN_FDS",
  "LISTEN_PID",
  "TMUX",
  "STY",
  "VSCODE_IPC_HOOK_CLI",
  "VSCODE_GIT_IPC_HANDLE",
] as const;
