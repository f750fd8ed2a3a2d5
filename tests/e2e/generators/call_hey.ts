import { createClient } from "./hey/client";
import { getDonation, searchOrganisations } from "./hey/sdk.gen";

const [baseUrl, auth] = process.argv.slice(2);
const client = createClient({ baseUrl, auth });

async function main(): Promise<void> {
  const found = await searchOrganisations({ client, query: { query: "yale university", pageSize: 5 } });
  if (!found.data?.data[0]?.name) throw new Error("nothing was found");
  const missing = await getDonation({ client, path: { id: "sandbox_donation_01j3sc8phefk1smjrx5rzm0mb2" } });
  if (missing.error?.error.code !== "not_found") throw new Error(JSON.stringify(missing.error));
}

void main();
