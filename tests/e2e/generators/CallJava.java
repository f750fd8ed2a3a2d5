import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DonationsApi;
import org.openapitools.client.api.OrganisationsApi;
import org.openapitools.client.api.OrganisationsApi.APISearchOrganisationsRequest;
import org.openapitools.client.model.DonationCreatedEvent;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.Event;

/** What openapi-generator makes for Java, calling the sandbox: ADDRESS KEY. */
class CallJava {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(args[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", args[1]));

    APISearchOrganisationsRequest words =
        APISearchOrganisationsRequest.newBuilder().query("yale university").pageSize(5).build();
    if (new OrganisationsApi(client).searchOrganisations(words).getData().get(0).getName().isEmpty()) {
      throw new AssertionError("nothing was found");
    }
    String sent = "{\"id\": \"1\", \"eventType\": \"donation.created\", \"eventData\": {\"id\": \"2\"}}";
    Event event = client.getObjectMapper().readValue(sent, Event.class);
    if (!((DonationCreatedEvent) event).getEventData().getId().equals("2")) {
      throw new AssertionError("another event: " + event);
    }
    try {
      new DonationsApi(client).getDonation("sandbox_donation_01j3sc8phefk1smjrx5rzm0mb2");
    } catch (ApiException missing) {
      String code = client.getObjectMapper().readValue(missing.getResponseBody(), Error.class).getError().getCode();
      if (missing.getCode() == 404 && code.equals("not_found")) return;
      throw missing;
    }
    throw new AssertionError("the call did not fail");
  }
}
