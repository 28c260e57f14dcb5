/** Up to which size a file is taken whole: what is read, searched, changed and remembered as read agrees on it. */

export const maxWholeBytes = 8 * 1024 * 1024;
export const maxWholeWords = `${maxWholeBytes / 1024 / 1024} MiB`;
