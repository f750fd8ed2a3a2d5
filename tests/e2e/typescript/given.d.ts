// What samples take for granted: a client as every page makes it, records of the reader, and a web framework.
import type { IncomingHttpHeaders } from "node:http";
import type { Almoner } from "almoner-client";

interface Request {
  body: any; // as Express has it
  headers: IncomingHttpHeaders;
}
interface Response {
  sendStatus(status: number): void;
}

declare global {
  const client: Almoner;
  const id: string;
  const secret: string;
  const stream: AsyncIterable<Uint8Array<ArrayBuffer>>;
  const express: { raw(options: { type: string }): unknown };
  const app: {
    post(path: string, raw: unknown, answer: (request: Request, response: Response) => Promise<void>): void;
  };
}
