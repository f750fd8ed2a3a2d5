import createClient from "openapi-fetch";

import type { paths } from "./types";

const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

async function main(): Promise<void> {
  const found = await client.GET("/v1/organisations", { params: { query: { query: "yale university", pageSize: 5 } } });
  if (!found.data?.data[0]?.name) throw new Error("nothing was found");
  const path = { id: "sandbox_donation_01j3sc8phefk1smjrx5rzm0mb2" };
  const missing = await client.GET("/v1/donations/{id}", { params: { path } });
  if (missing.error?.error.code !== "not_found") throw new Error(JSON.stringify(missing.error));
}

void main();
