// What a partner writes with the types of openapi-typescript. Compiled only.
import type { components, paths } from "./types";

type Schemas = components["schemas"];

// A field with a default, or one that may be absent, is not demanded.
const booking: Schemas["PartnerBookingCreate"] = { class_id: "…", member_id: "…" };
const lead: Schemas["LeadCreate"] = { email: "sam@example.com" };
const form: Schemas["PartnerFormCreate"] = {
  title: "Intake",
  fields: [{ key: "goals", label: "Goals", type: "select", options: ["a", { value: "b", label: "B" }] }],
  settings: { allow_multiple: false, your_own: { kept: true } },
};
const endpoint: Schemas["WebhookEndpointCreate"] = { url: "https://partner.example/hook" };

// Closed in requests.
// @ts-expect-error
const wrong: Schemas["LeadUpdate"] = { status: "not_known_yet" };
const filter: paths["/bookings"]["get"]["parameters"]["query"] = { status: "confirmed" };

// Open in answers: known values complete, and new ones compile.
function label(status: Schemas["Booking"]["status"]): string {
  const names: Partial<Record<Schemas["BookingStatus"] | string, string>> = { confirmed: "Booked" };
  return names[status] ?? status;
}

// Narrowed by type.
function handle(event: Schemas["KnownEvent"]): string {
  switch (event.type) {
    case "booking.created":
    case "booking.cancelled":
      return label(event.data.object.status);
    case "class.updated":
      return `${event.data.object.title}: ${event.data.object.available_count}`;
    default:
      return event.type;
  }
}

type Page = paths["/events"]["get"]["responses"][200]["content"]["application/json"];
export function all(page: Page): string[] {
  return page.data.map((event) => handle(event as Schemas["KnownEvent"]));
}

export function retry(error: Schemas["ErrorResponse"]["error"]): boolean {
  return error.code === "overloaded" || error.retryable;
}
export { booking, endpoint, filter, form, lead, wrong };
