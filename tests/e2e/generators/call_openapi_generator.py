"""What openapi-generator makes for Python, calling the sandbox: FOLDER ADDRESS KEY."""

import sys

sys.path.insert(0, sys.argv[1])

from openapi_client import ApiClient, Configuration, DonationsApi, OrganisationsApi  # type: ignore[import-not-found]
from openapi_client.exceptions import NotFoundException  # type: ignore[import-not-found]

with ApiClient(Configuration(host=sys.argv[2], api_key={"secretKey": sys.argv[3]})) as api:
    found = OrganisationsApi(api).search_organisations(query="yale university", page_size=5)
    assert found.data[0].name
    try:
        DonationsApi(api).get_donation("sandbox_donation_01j3sc8phefk1smjrx5rzm0mb2")
        code = "none"
    except NotFoundException as missing:
        code = missing.data.error.code
assert code == "not_found"
