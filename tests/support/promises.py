"""The service's promises, and the tests that try to break each of them: the source of docs/reliability.md."""

from typing import NamedTuple


class Promise(NamedTuple):
    words: str
    tests: tuple[str, ...]


RACES, CRASHES, MODEL = "races/test_races.py::", "races/test_crashes.py::", "races/test_model.py::test_walks"
IDEMPOTENCY, TENANCY = "api/test_idempotency.py::", "storage/test_tenancy.py::"
ISOLATION, DELIVERY, EVENTS = "api/test_isolation.py::", "worker/test_webhooks.py::", "flows/test_events.py::"
CLUSTER = "races/test_cluster.py::"
MANY_CRASHES = (CRASHES + "test_killed_worker", CRASHES + "test_killed_postmaster")
BATCH_FAULTS = "races/test_batch_faults.py::test_faults_in_batches"
STORM_OF_EVENTS = "worker/test_webhook_crashes.py::test_deliveries_are_what_happened"
OVERTAKING = RACES + "test_nobody_overtakes"

PROMISES: dict[str, tuple[Promise, ...]] = {
    "Booking": (
        Promise(
            "A class is never oversold, and its counters say what is in it.",
            (
                RACES + "test_last_seats",
                RACES + "test_flash_crowd",
                RACES + "test_flash_crowd_beyond_the_pool",
                RACES + "test_rush",
                RACES + "test_changing_capacities",
            ),
        ),
        Promise(
            "No seat is lost: with enough eligible members trying, exactly as many are confirmed as there are seats.",
            (RACES + "test_full_classes",),
        ),
        Promise(
            "A member has at most one live booking in a class, and a spot at most one holder.",
            (RACES + "test_overlapping_bookings", "api/test_bookings_spots.py::test_a_spot_is_held_a_class", MODEL),
        ),
        Promise(
            "Credits never go below zero; each confirmed booking takes one, each cancellation settles it once, and a "
            "booking has at most one fee.",
            (RACES + "test_last_credit", MODEL),
        ),
        Promise(
            "What was acknowledged is there after kill -9 of any process of the service or of PostgreSQL.",
            MANY_CRASHES,
        ),
        Promise(
            "What became of a request without an answer can be found out: repeating it with its key gives one effect "
            "or one definite refusal.",
            (*MANY_CRASHES, CRASHES + "test_cut_storm", BATCH_FAULTS),
        ),
        Promise(
            "Requests for one class share a transaction, but not their fate: after a deadlock or a statement timeout "
            "inside it, all but the request at fault are answered as if alone; after a cut connection or kill -9, each "
            "can be repeated and has one effect.",
            (BATCH_FAULTS, "flows/test_batch_faults.py::test_a_fault_inside_a_batch"),
        ),
        Promise(
            "A refusal that was returned under a key does not become a booking under that key within 24 hours.",
            (IDEMPOTENCY + "test_a_refusal_stays_a_refusal",),
        ),
    ),
    "Idempotency": (
        Promise(
            "One key with one request, however often and however concurrently: one effect, the same bytes for 24 "
            "hours, also after a cancellation, an edit or a restart.",
            (
                RACES + "test_one_key",
                IDEMPOTENCY + "test_a_replay_outlives_what_it_was_about",
                IDEMPOTENCY + "test_a_replay_outlives_a_restart",
            ),
        ),
        Promise(
            "Another request under the same key is refused and changes nothing; another spelling is no other request.",
            (RACES + "test_one_key", IDEMPOTENCY + "test_what_is_the_same_request"),
        ),
        Promise(
            "The database's clock alone decides when a key is free again.",
            (IDEMPOTENCY + "test_remembered_for_24_hours",),
        ),
        Promise(
            "Keys of two credentials never meet, and a repetition is authorized anew.",
            (
                IDEMPOTENCY + "test_keys_of_two_credentials_never_meet",
                IDEMPOTENCY + "test_a_replay_checks_the_scope_again",
                IDEMPOTENCY + "test_a_replay_checks_the_location_again",
            ),
        ),
    ),
    "Staff": (
        Promise(
            "Staff and partners may act on the same class, member or membership at the same moment: no seat, credit or "
            "place is lost or given twice, and an erased person keeps nothing ahead.",
            ("races/test_staff_races.py::test_staff_and_partners",),
        ),
        Promise(
            "kill -9 in the middle of any flow of the studio's side loses nothing and leaves nothing half done.",
            ("races/test_killed_staff.py::test_killed_in_the_middle",),
        ),
        Promise(
            "Every change, whatever made it, has exactly one event with exactly the fields that changed; every change "
            "by a person, a command, an import or a key has its audit entry.",
            (
                "races/test_model.py::test_staff_walks",
                "flows/test_staff_traces.py::test_a_walk_over_every_flow",
                "contract/test_event_causes.py::test_every_type_has_a_cause",
            ),
        ),
        Promise(
            "An import changes back nothing that has changed since, and clears nothing that it does not name; credits "
            "are the sum of their ledger.",
            (
                "flows/test_studio_file_patch.py::test_absent_stays_and_null_clears",
                "flows/test_studio_file_patch.py::test_a_row_that_changed_since_the_export_is_not_rewound",
                "races/test_model.py::test_staff_walks",
            ),
        ),
        Promise(
            "Each flow of staff demands exactly its permission, at the person's locations only; rows of other "
            "locations and studios are answered as if there were none; what is taken away is gone within five seconds.",
            (
                "flows/test_staff_permissions.py::test_a_role_may_what_its_permissions_say",
                "flows/test_staff_traces.py::test_staff_who_are_limited_to_a_location",
                "console/test_hidden_rows.py::test_rows_of_another_studio_do_not_exist",
                "console/test_hidden_rows.py::test_rows_of_another_location_do_not_exist",
                "console/test_live.py::test_a_stream_ends_with_what_its_person_may_see",
            ),
        ),
        Promise(
            "After an erasure nothing in the service holds the person's name, contact or answers.",
            (
                "flows/test_members_erase.py::test_nothing_of_the_person_is_left",
                "flows/test_members_erase.py::test_submissions_with_an_earlier_email_are_erased",
            ),
        ),
        Promise(
            "Strangers lock nobody out: a known device, a link and an open session work whatever they try.",
            ("flows/test_staff_sign_in.py::test_strangers_lock_out_no_known_device_no_link_and_no_session",),
        ),
    ),
    "Waitlist": (
        Promise(
            "Waiting members who are eligible are promoted in the order of joining; positions have no gaps.",
            (OVERTAKING, RACES + "test_cancellations_and_promotions", MODEL),
        ),
        Promise(
            "A free seat never stays beside an eligible waiting member: no newcomer overtakes.",
            (OVERTAKING, "api/test_waitlist.py::test_no_newcomer_takes_the_seat_of_a_member_eligible_again"),
        ),
        Promise("An entry becomes a seat at most once.", (OVERTAKING, MODEL)),
    ),
    "Isolation": (
        Promise(
            "No byte of an answer belongs to another studio, or to a location that the key may not see.",
            (
                ISOLATION + "test_no_answer_among_many_studios_holds_a_foreign_byte",
                ISOLATION + "test_no_answer_holds_a_foreign_byte",
                DELIVERY + "test_only_what_is_wanted_and_visible_is_queued",
            ),
        ),
        Promise(
            "What exists elsewhere cannot be distinguished from what does not exist.",
            (
                ISOLATION + "test_hidden_and_unknown_ids_are_indistinguishable",
                ISOLATION + "test_hidden_and_unknown_cursors_are_indistinguishable",
            ),
        ),
        Promise(
            "Every route demands exactly its scope, and a new one denies until it names one.",
            (
                "api/test_scopes.py::test_a_key_with_one_scope",
                "api/test_scopes.py::test_a_key_with_all_scopes_but_one",
                "api/test_scopes.py::test_a_new_route_denies_by_default",
            ),
        ),
        Promise(
            "No stored row can refer to a row of another studio.",
            (
                TENANCY + "test_no_row_can_reference_another_studio_s",
                TENANCY + "test_no_row_can_move_to_another_studio",
            ),
        ),
    ),
    "Events and webhooks": (
        Promise(
            "Each change is announced exactly once in the log, in its own transaction; what rolled back is not.",
            (STORM_OF_EVENTS, EVENTS + "test_what_rolls_back_is_not_announced"),
        ),
        Promise(
            "No event is announced before it is true, and a reader who remembers the last number misses none.",
            (STORM_OF_EVENTS, EVENTS + "test_a_reader_that_remembers_the_last_sequence_misses_nothing"),
        ),
        Promise(
            "Every event is delivered at least once, with the same id and the same body on every attempt, whatever "
            "dies on the way.",
            (STORM_OF_EVENTS, DELIVERY + "test_the_same_body_on_every_attempt_until_it_succeeds"),
        ),
        Promise(
            "A slow or hostile receiver delays no other endpoint and no request.",
            (
                "worker/test_hostile_receivers.py::test_nobody_notices_hostile_receivers",
                DELIVERY + "test_hostile_receivers_delay_nobody",
            ),
        ),
        Promise(
            "No connection is opened to a denied address: at creation, at a retry, after a redirect, after a change of "
            "names.",
            (
                DELIVERY + "test_redirects_are_failures_and_open_no_connection",
                DELIVERY + "test_a_name_that_later_has_a_private_address_opens_no_connection",
                "domain/test_webhooks_targets.py::test_addresses_that_nothing_connects_to",
            ),
        ),
    ),
    "Reading and writing": (
        Promise(
            "A walk through a list sees every row once, also while others write.",
            (
                "api/test_cursor_walk.py::test_every_row_exactly_once",
                "api/test_cursor_walk.py::test_every_row_that_matches_throughout",
            ),
        ),
        Promise(
            "A studio has one lead per email, and one request made it.",
            ("api/test_leads.py::test_32_at_once_in_8_spellings_make_one_lead",),
        ),
        Promise(
            "A form takes a submission exactly when it is open and every visible required field has a valid answer; "
            "judging always ends.",
            (
                "domain/test_forms_answers.py::test_it_agrees_with_an_independent_judge",
                "domain/test_forms_visibility.py::test_it_ends_for_anything",
                "api/test_forms_submit.py::test_a_full_form_under_concurrency",
            ),
        ),
        Promise(
            "Whatever is sent gets a documented answer soon: never a 5xx, a stack trace or a jump in memory.",
            (
                "api/test_schemathesis.py::test_the_service_keeps_its_description",
                "api/test_hostile_bodies.py::test_what_is_not_json",
                "api/test_hostile_bodies.py::test_large_bodies_are_cheap",
                "api/test_hostile_connections.py::test_a_body_that_never_ends",
            ),
        ),
    ),
    "Operation": (
        Promise(
            "Overload: at three times the load that saturates it, the service keeps at least 80 % of its goodput; who "
            "is refused learns it soon, with 429 or 503 and Retry-After; memory and connections stay bounded.",
            ("races/test_overload.py::test_overload", "api/test_limits.py::test_processes_share_one_limit"),
        ),
        Promise(
            "Abuse by a visitor or by one key stops nobody: a well-behaved partner's slowest hundredth takes less than "
            "twice as long, and memory stays bounded.",
            (
                "races/test_abuse.py::test_a_partner_hardly_notices_abuse",
                "races/test_abuse.py::test_every_attack_is_answered_without_a_failure",
            ),
        ),
        Promise(
            "Cost is bounded: an anonymous request costs at most 50 ms of CPU at the limits of every parser, and no "
            "input makes work that grows faster than linearly.",
            (
                "security/test_anonymous_cost.py::test_no_request_of_anybody_costs_more_than_50_ms",
                "api/test_cost_of_text.py::test_text_in_a_body",
                "domain/test_forms_work.py::test_judging_is_linear",
            ),
        ),
        Promise(
            "A hung or lost database server loses no acknowledged write and holds no connection for ever; what became "
            "of a COMMIT without an answer is never called a failure.",
            (
                CRASHES + "test_killed_postmaster",
                "storage/test_deadlines.py::test_a_statement_on_a_hung_server_ends",
                "storage/test_deadlines.py::test_a_cut_at_commit_is_an_unknown_outcome",
                "storage/test_deadlines.py::test_readiness_does_not_wait_for_a_hung_server",
            ),
        ),
        Promise(
            "A database cluster may fail over, hang, or lose machines, its coordination or its connections: no "
            "acknowledged write is lost or doubled, no process has to be restarted, and writes are acknowledged within "
            "3 s after the cluster has a primary.",
            (CLUSTER + "test_faults_of_a_cluster", "storage/test_deadlines.py::test_a_server_that_hangs_is_left"),
        ),
        Promise(
            "A connection that is cut at COMMIT leaves no write half done: bookings, cancellations, leads, members, "
            "submissions, uploads, webhook endpoints and forms of the console, repeated, have one effect.",
            (CLUSTER + "test_unknown_outcomes_at_commit",),
        ),
        Promise(
            "API machines are restarted one after the other behind a proxy without one failed request.",
            (CLUSTER + "test_a_rolling_restart_fails_no_request",),
        ),
        Promise(
            "The operator's guide makes a cluster, loses its primary and gets it back with copied commands only.",
            ("docs/test_operating_guide.py::test_a_cluster_from_the_guide",),
        ),
        Promise(
            "Migrations run beside the release before them, under load: no deadlock, no failed booking.",
            (
                "migrations/test_beside_a_service.py::test_bookings_go_on_while_the_first_release_is_migrated",
                "migrations/test_beside_a_service.py::test_each_step_takes_one_kind_of_lock",
            ),
        ),
        Promise(
            "`doctor` costs linear time in the data, whatever its skew.",
            ("storage/test_cost_of_checks.py::test_the_cost_of_each_check_is_linear",),
        ),
        Promise(
            "SIGTERM under load: no accepted request fails, and the service ends well within the drain limit.",
            (CRASHES + "test_drained", CRASHES + "test_stopped_while_starting"),
        ),
        Promise(
            "A backup taken under load and restored holds what was acknowledged before it, and `doctor` is content.",
            (
                "races/test_backups.py::test_a_backup_holds_what_was_acknowledged",
                "storage/test_cost_of_checks.py::test_backup_restore_and_doctor_of_a_large_studio",
            ),
        ),
        Promise(
            "Keys and webhook secrets are rotated under load: inside the overlap both work everywhere, afterwards the "
            "old one nowhere.",
            (
                "races/test_rotation.py::test_rotated_keys",
                "worker/test_secret_rotation.py::test_every_delivery_verifies",
            ),
        ),
    ),
}


def named_tests() -> list[str]:
    """Return the pytest id of every test named above, without duplicates."""
    names = [name for promises in PROMISES.values() for promise in promises for name in promise.tests]
    return [f"tests/{name}" for name in dict.fromkeys(names)]
