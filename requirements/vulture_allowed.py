"""Names that vulture sees no use of, although they are used. What else it finds in `make lint` is dead code."""

# Fields of requests and responses, which pydantic reads.
_.api_version
_.attempted_at
_.available
_.beginner_safe
_.booking_source
_.cancellation_reason
_.city
_.client_visible
_.consent_label
_.consent_policy_slug
_.consent_policy_version
_.converted_to_booking
_.credit_forfeited
_.disabled_reason
_.display_when
_.doc_url
_.event_type
_.event_types
_.failing_since
_.help_text
_.is_primary
_.lifecycle_stage
_.max_file_size
_.membership_end_date
_.membership_start_date
_.membership_type
_.multiple
_.next_attempt_at
_.next_since
_.options_layout
_.pause_reason
_.placeholder
_.previous_secret_expires_at
_.recovery
_.signature_purpose
_.step_index
_.tagline
_.image_url
_.latitude
_.longitude
_.line1
_.line2
_.postal_code
_.utm_campaign
_.utm_content
_.utm_id
_.utm_medium
_.utm_source
_.utm_term
_.waitlist_position

# Members of enums and dataclasses: values of the contract, or read by templates.
_.API
_.AUTHENTICATION
_.CARD
_.CASH
_.CONFLICT
_.GIFT_CARD
_.IDEMPOTENCY
_.INVALID_REQUEST
_.PERMISSION
_.RATE_LIMIT
_.RETAIL
_.TRANSFER
_.USER
_.buttons
_.confirmation_message
_.heading
_.on_accent
_.symbol
_.text_sha256
_.typed_name

# Called or read by a framework: uvicorn, rich, typer, pydantic, jinja2.
_._fingerprinted
_.capture_signals
_.described_by
_.import_file
_.model_config
# Read by enum.
_._value_
_.no_wrap
_.run_migrations
_.should_exit
_.show_version
_.title_justify
_.total_requests
_.waiting_for_100_continue
_.worker

# Named in data files of the console.
_.OFFER
_.PARTNERS
_.QUALIFIED
_.UNQUALIFIED
_.colleagues

# Members of an enum that stand for values which people choose.
_.MONTH

# What inspect reads from a function.
_.__annotations__
_.__signature__

# What templates of the documentation read.
is_usual
body_example
usual_codes
returned_as
_.excerpt

# What templates of the console read.
_.marked_at
_.icon
_.payments
_.terms
_.ACTORS
_.key_state
_.status_look
_.asks_reason
_.button
_.clocks
_.instructor_index
_.room_index
_.subtitle
_.in_drawer
_.booked_share
_.can_check_in
_.can_mark_absent
_.checked_in_share
_.day_url
_.just_now
_.late_cancellation
_.waitlist_text
_.membership_text
_.seats_not_listed
_.skip_text
_.url_of
_.waiting_not_listed

# Fields of answers, which are built from their rows.
_.erased_at
_.merged_member_id
_.moved_to_booking_id
_.moved_from_booking_id

# The command `studiogate up`, which is imported by its name.
up

# Passed to its statement with the other values of its tuple.
_.sets_phone

# Read by set_up/welcome.html.
_.has_booking
_.is_dismissed

# Called by the buffer that reads a file of a bucket.
_.readinto
