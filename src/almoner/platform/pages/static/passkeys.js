// Passkeys: the browser is asked by the options in the page, and its answer is posted with the form. Nothing is fetched.
"use strict";

const can =
  window.PublicKeyCredential &&
  PublicKeyCredential.parseCreationOptionsFromJSON &&
  PublicKeyCredential.parseRequestOptionsFromJSON;

for (const part of document.querySelectorAll("[data-passkey]")) {
  part.querySelector("[data-without]").hidden = Boolean(can);
  part.querySelector("[data-with]").hidden = !can;
}

const said = { NotAllowedError: "notAllowed", InvalidStateError: "invalidState" };

async function ask(form) {
  const options = JSON.parse(form.dataset.options);
  const publicKey =
    form.dataset.passkeyForm === "create"
      ? PublicKeyCredential.parseCreationOptionsFromJSON(options)
      : PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential =
    form.dataset.passkeyForm === "create"
      ? await navigator.credentials.create({ publicKey })
      : await navigator.credentials.get({ publicKey });
  return JSON.stringify(credential.toJSON());
}

for (const form of can ? document.querySelectorAll("[data-passkey-form]") : []) {
  form.addEventListener("submit", async (event) => {
    if (form.elements.credential.value) return;
    event.preventDefault();
    const message = form.querySelector("[data-form-error]");
    message.textContent = "";
    try {
      form.elements.credential.value = await ask(form);
      form.requestSubmit();
    } catch (error) {
      message.textContent = form.closest("[data-passkey]").dataset[said[error.name] ?? "failed"];
    }
  });
}

// A page that the browser kept would post its last answer again, and a challenge is taken once.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});
