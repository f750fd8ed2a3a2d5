import { Configuration, DonationsApi, OrganisationsApi, ResponseError } from "./fetch/index";

const [basePath, apiKey] = process.argv.slice(2);
const configuration = new Configuration({ basePath, apiKey });

async function main(): Promise<void> {
  const found = await new OrganisationsApi(configuration).searchOrganisations({ query: "yale university", pageSize: 5 });
  if (!found.data[0]?.name) throw new Error("nothing was found");
  const missing: unknown = await new DonationsApi(configuration).getDonation({ id: "sandbox_donation_01j3sc8phefk1smjrx5rzm0mb2" }).catch((error) => error);
  if (!(missing instanceof ResponseError) || missing.response.status !== 404) throw new Error(String(missing));
}

void main();
