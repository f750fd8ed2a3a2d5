/** Files to upload, for Node, Deno and Bun. */
import type { Upload } from "./core.js";

interface NodeFiles {
  openAsBlob(path: string, options?: { type?: string }): Promise<Blob>;
}

const TYPES: Record<string, string> = {
  heic: "image/heic",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  pdf: "application/pdf",
  png: "image/png",
};

/** A file at a path; it is read while it is sent. */
export async function fromPath(path: string): Promise<Upload> {
  const name = path.split(/[\\/]/).pop() ?? "file";
  const module = "node:fs"; // a name that bundlers for browsers do not follow
  const { openAsBlob } = (await import(module)) as NodeFiles;
  const type = TYPES[name.split(".").pop()?.toLowerCase() ?? ""] ?? "application/octet-stream";
  return { data: await openAsBlob(path, { type }), name, type };
}

/** A stream, read to its end so that it can be sent again. */
export async function fromStream(
  stream: AsyncIterable<Uint8Array<ArrayBuffer>>,
  name: string,
  type?: string,
): Promise<Upload> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const part of stream) parts.push(part);
  return { data: new Blob(parts), name, type: type ?? TYPES[name.split(".").pop()?.toLowerCase() ?? ""] };
}
