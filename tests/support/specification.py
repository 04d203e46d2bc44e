"""The resources of the specification (section 2) and of the contract's additions, field by field, as data.

A type is a key of ``TYPES`` in ``test_resources.py``; a question mark after it means that the field may be null. Every
field is always present. A field is nullable only if the specification or the contract says so, and only where null
occurs: a booking's times, a studio's slug and timezone may be null by the specification, but never are.
"""

from collections.abc import Mapping

Fields = Mapping[str, str]


def _fields(text: str) -> dict[str, str]:
    return dict(line.split() for line in text.strip().splitlines())


PRICE = _fields(
    """
    id              uuid
    amount          decimal
    currency        string
    price_type      string
    interval        string?
    default         boolean
    active          boolean
    """
)

ADDRESS = _fields(
    """
    line1           string?
    line2           string?
    postal_code     string?
    country         string?
    """
)

RESOURCES: Mapping[str, Fields] = {
    "studio": _fields(
        """
        id              uuid
        name            string
        slug            string
        timezone        string
        logo_url        string?
        primary_color   string?
        """
    ),
    "location": _fields(
        """
        id              uuid
        name            string
        city            string
        state           string
        timezone        string
        active          boolean
        is_primary      boolean
        address         address?
        latitude        number?
        longitude       number?
        phone           string?
        updated_at      instant
        """
    ),
    "room": _fields(
        """
        id              uuid
        location_id     uuid
        name            string
        capacity        integer
        active          boolean
        updated_at      instant
        """
    ),
    "class_type": _fields(
        """
        id              uuid
        name            string
        description     string?
        beginner_safe   boolean?
        recovery        boolean?
        active          boolean
        image_url       string?
        updated_at      instant
        """
    ),
    "instructor": _fields(
        """
        id              uuid
        name            string
        tagline         string
        tags            strings
        active          boolean
        image_url       string?
        updated_at      instant
        """
    ),
    "class": _fields(
        """
        id                      uuid
        title                   string
        description             string?
        class_type_id           uuid?
        location_id             uuid?
        room_id                 uuid?
        instructor_id           uuid?
        start_time              instant
        end_time                instant
        capacity                integer
        booked_count            integer
        available_count         integer
        allow_waitlist          boolean
        spot_selection_mode     string?
        status                  string
        visible                 boolean
        booking_opens_at        instant?
        booking_closes_at       instant
        cancellation_cutoff_at  instant
        promotion_cutoff_at     instant
        waitlist_count          integer
        updated_at              instant
        """
    ),
    "class_spot": _fields(
        """
        id              uuid
        class_id        uuid
        label           string
        x               number?
        y               number?
        available       boolean
        """
    ),
    "product": _fields(
        """
        id              uuid
        key             string
        name            string
        product_type    string
        active          boolean
        client_visible  boolean
        credits_granted integer?
        prices          prices
        updated_at      instant
        """
    ),
    "purchase": _fields(
        """
        id              uuid
        member_id       uuid
        product_id      uuid?
        product_key     string
        product_type    string
        quantity        integer
        amount_total    decimal?
        currency        string?
        refunded_amount decimal?
        status          string?
        paid_by         string?
        created_at      instant
        updated_at      instant
        """
    ),
    "lead": _fields(
        """
        id              uuid
        email           email
        first_name      string
        last_name       string
        phone           string?
        source          string?
        status          string
        lifecycle_stage string?
        metadata        object
        created_at      instant
        updated_at      instant
        """
    ),
    "member": _fields(
        """
        id                      uuid
        name                    string
        first_name              string
        last_name               string
        email                   email?
        phone                   string?
        role                    string
        membership_type         string?
        membership_start_date   instant?
        membership_end_date     instant?
        erased_at               instant?
        created_at              instant
        updated_at              instant
        """
    ),
    "membership": _fields(
        """
        id                      uuid
        member_id               uuid
        product_id              uuid
        status                  string
        auto_renew              boolean
        state_version           integer
        started_at              instant?
        current_period_start    instant?
        current_period_end      instant?
        paused_at               instant?
        pause_starts_at         instant?
        pause_ends_at           instant?
        pause_reason            string?
        cancel_at_period_end    boolean
        cancel_at               instant?
        cancelled_at            instant?
        cancellation_reason     string?
        ended_at                instant?
        credits_granted         integer?
        credits_remaining       integer?
        updated_at              instant
        """
    ),
    "booking": _fields(
        """
        id                  uuid
        class_id            uuid
        member_id           uuid
        status              string
        booking_source      string?
        class_spot_id       uuid?
        waitlist_position   integer?
        moved_to_booking_id uuid?
        moved_from_booking_id uuid?
        created_at          instant
        updated_at          instant
        """
    ),
    "waitlist": _fields(
        """
        id                      uuid
        class_id                uuid
        member_id               uuid
        position                integer?
        status                  string
        converted_to_booking    boolean
        booking_id              uuid
        joined_at               instant
        promoted_at             instant?
        skip_reason             string?
        updated_at              instant
        """
    ),
    "form": _fields(
        """
        id              uuid
        title           string
        slug            string
        description     string?
        fields          form_fields
        settings        object
        status          string
        version         integer
        """
    ),
    "form_submission": _fields(
        """
        id              uuid
        form_id         uuid
        form_version    integer
        submitter_name  string?
        submitter_email email
        data            answers
        status          string
        verified        boolean
        member_id       uuid?
        lead_id         uuid?
        created_at      instant
        updated_at      instant
        """
    ),
    "booking_cancellation": _fields(
        """
        id                  uuid?
        booking_id          uuid
        class_id            uuid
        member_id           uuid
        status              string
        cancelled_at        instant?
        cancelled_by        string
        reason              string?
        cancellation_type   string
        late                boolean
        cutoff_at           instant
        late_fee            late_fee?
        credit_forfeited    boolean
        credits_forfeited   integer
        credits_returned    integer
        membership_id       uuid?
        credits_remaining   integer?
        spot_released       boolean
        promoted            boolean
        policy              policy
        """
    ),
    # Without an id: it is not stored.
    "booking_validation": _fields(
        """
        bookable            boolean
        outcome             string
        reasons             reasons
        membership_id       uuid?
        credits_required    integer
        """
    ),
    "form_upload": _fields(
        """
        id              uuid
        filename        string
        size            integer
        content_type    string
        """
    ),
    "webhook_endpoint": _fields(
        """
        id                          uuid
        url                         string
        event_types                 strings
        description                 string?
        enabled                     boolean
        disabled_reason             string?
        disabled_at                 instant?
        failing_since               instant?
        previous_secret_expires_at  instant?
        created_at                  instant
        updated_at                  instant
        """
    ),
    "webhook_delivery": _fields(
        """
        id              uuid
        endpoint_id     uuid
        event_id        uuid?
        event_type      string
        status          string
        next_attempt_at instant?
        attempts        attempts
        created_at      instant
        """
    ),
    "webhook_replay": _fields(
        """
        endpoint_id     uuid
        deliveries      integer
        has_more        boolean
        next_since      instant?
        """
    ),
    "event_redelivery": _fields(
        """
        event_id        uuid
        deliveries      integer
        """
    ),
    "service_key": _fields(
        """
        id              string
        name            string
        scopes          strings
        location_ids    strings?
        test            boolean
        expires_at      instant?
        """
    ),
    "event": _fields(
        """
        id              uuid
        type            string
        api_version     string
        created_at      instant
        sequence        integer
        studio_id       uuid
        actor           actor
        data            object
        """
    ),
}

FORM_FIELD = _fields(
    """
    key                     string
    label                   string
    type                    string
    required                boolean
    placeholder             string?
    options                 array?
    options_layout          string?
    order                   integer
    help_text               string?
    display_when            object?
    step_index              integer?
    signature_purpose       string?
    consent_policy_slug     string?
    consent_policy_version  string?
    consent_label           string?
    accept                  string?
    max_file_size           integer?
    multiple                boolean?
    max_rating              integer?
    min                     number?
    max                     number?
    """
)

CONDITIONAL_RULE = _fields(
    """
    field_key   string
    op          string
    value       any?
    """
)

LATE_FEE = _fields(
    """
    amount      decimal
    currency    string
    status      string
    purchase_id uuid?
    """
)

POLICY = _fields(
    """
    require_entitlement             boolean
    booking_opens_minutes_before    integer?
    booking_closes_minutes_before   integer
    cancellation_window_minutes     integer
    late_action                     string
    late_fee_amount                 decimal
    late_fee_currency               string?
    free_late_cancels               integer
    free_late_cancels_days          integer
    waitlist_mode                   string
    waitlist_capacity               integer?
    promotion_cutoff_minutes        integer
    promotion_grace_minutes         integer
    max_bookings_per_day            integer?
    allow_overlapping               boolean
    waiver_form_id                  uuid?
    """
)

VALIDATION_REASON = _fields(
    """
    code        string
    message     string
    details     object
    """
)

WEBHOOK_ATTEMPT = _fields(
    """
    number          integer
    attempted_at    instant
    duration_ms     integer
    status          integer?
    error           string?
    response        string?
    """
)

ACTOR = _fields("type string")

# Shown when an endpoint is created, and when its secret is rotated.
WEBHOOK_SECRET = _fields("secret string")

MUTATION_RESULT = _fields(
    """
    id          uuid
    object      string
    created     boolean
    """
)
