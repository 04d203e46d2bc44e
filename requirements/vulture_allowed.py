"""Names that vulture sees no use of, although they are used. What else it finds in `make lint` is dead code."""

# Fields of requests and responses, which pydantic reads.
_.amount_total
_.api_version
_.attempted_at
_.available
_.bookable
_.booking_source
_.cancellation_reason
_.consent_label
_.consent_policy_slug
_.consent_policy_version
_.converted_to_booking
_.credit_forfeited
_.disabled_at
_.disabled_reason
_.display_when
_.doc_url
_.enabled
_.event_type
_.event_types
_.failing_since
_.form_version
_.help_text
_.joined_at
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
_.price_type
_.refunded_amount
_.retry
_.retryable
_.signature_purpose
_.step_index
_.utm_campaign
_.utm_content
_.utm_id
_.utm_medium
_.utm_source
_.utm_term
_.waitlist_position

# Members of enums and dataclasses: values of the contract, or read by templates.
_.CONTACTED
_.LOST
_.MANUAL
_.MONTH
_.NEW
_.NONE
_.PARTIALLY_REFUNDED
_.QUALIFIED
_.REFUNDED
_.UNQUALIFIED
_.USER
_.bookable_class_id
_.buttons
_.confirmation_message
_.full_class_id
_.ink
_.instructors
_.max_file
_.member_email
_.multiple
_.on_accent
_.pause_reason
_.placeholder
_.primary_location_id
_.products
_.rooms
_.second_location_id
_.text_sha256
_.typed_name
_.verify_url

# Called or read by a framework: uvicorn, rich, typer, pydantic, jinja2.
_._fingerprinted
_.capture_signals
_.described_by
_.doctor
_.export
_.import_file
_.import_rows
_.inputs
_.menu
_.model_config
_.no_wrap
_.run_migrations
_.should_exit
_.show_version
_.total_requests
_.waiting_for_100_continue
_.worker

# Members of an enum that stand for values which people choose.
_.GIFT_CARD
_.RETAIL

# Flows of people who sign in. The console's pages call them.
_.accept_invitation
_.change_password
_.confirm
_.confirm_password
_.end_other_sessions
_.request_reset
_.reset_password
_.set_up
_.sign_in
_.sign_in_by_link
_.sign_out
_.uri

# What templates of the console read.
_.asks_reason
_.button
_.clocks
_.instructor_index
_.room_index
_.subtitle
_.zone_mark
_.change_count
_.form_lists
_.icon
_.is_current
_.other_faults
