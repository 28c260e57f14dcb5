/** The settings name a model that this version cannot reach; the message says what to change. */
export class ModelSupportError extends Error {
  override readonly name = "ModelSupportError";
}
