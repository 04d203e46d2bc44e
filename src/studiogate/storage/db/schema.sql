-- Made by `make schema` from the migrations. Not applied to anything: migrations are.

CREATE DOMAIN public.booking_policy AS jsonb
	CONSTRAINT is_object CHECK ((jsonb_typeof(VALUE) = 'object'::text));

CREATE DOMAIN public.booking_status AS text
	CONSTRAINT known CHECK ((VALUE = ANY (ARRAY['waitlisted'::text, 'confirmed'::text, 'checked_in'::text, 'no_show'::text, 'cancelled'::text])));

CREATE DOMAIN public.class_status AS text
	CONSTRAINT known CHECK ((VALUE = ANY (ARRAY['scheduled'::text, 'cancelled'::text])));

CREATE DOMAIN public.credit_count AS integer
	CONSTRAINT none_or_one CHECK ((VALUE = ANY (ARRAY[0, 1])));

CREATE DOMAIN public.event_actor AS text;

CREATE DOMAIN public.event_sequence AS bigint
	CONSTRAINT from_one_on CHECK ((VALUE >= 1));

CREATE DOMAIN public.head_count AS integer
	CONSTRAINT not_negative CHECK ((VALUE >= 0));

CREATE DOMAIN public.idempotency_key AS text
	CONSTRAINT of_length CHECK (((length(VALUE) >= 8) AND (length(VALUE) <= 120)));

CREATE DOMAIN public.ledger_reason AS text;

CREATE DOMAIN public.membership_status AS text
	CONSTRAINT known CHECK ((VALUE = ANY (ARRAY['pending'::text, 'active'::text, 'paused'::text, 'past_due'::text, 'cancelled'::text, 'expired'::text])));

CREATE DOMAIN public.spot_selection_mode AS text
	CONSTRAINT known CHECK ((VALUE = ANY (ARRAY['optional'::text, 'required'::text])));

CREATE FUNCTION public.add_studio_secret() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into studio_secrets (studio_id) values (new.studio_id);
    return null;
end
$$;

CREATE FUNCTION public.begin_availability() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into class_availability (studio_id, class_id, capacity, booked_count, available_count, waitlist_count)
    select a.studio_id, a.id, a.capacity, a.booked_count,
           case when a.status = 'cancelled' then 0 else greatest(a.capacity - a.booked_count, 0) end, a.waitlist_count
    from added a on conflict do nothing;
    return null;
end
$$;

CREATE FUNCTION public.booking_facts(of_studio uuid, of_class uuid, of_members uuid[], class_begins timestamp with time zone, class_ends timestamp with time zone) RETURNS json
    LANGUAGE plpgsql
    AS $$
declare
    found json;
begin
    select coalesce(json_agg(facts), '[]') into found from (
        select m.id, m.suspended, m.erased_at is not null as erased, (
                   select coalesce(json_agg(row_to_json(each)), '[]') from (
                       select s.id, s.status, s.credits_remaining, s.started_at, s.current_period_end,
                              s.pause_starts_at, s.pause_ends_at, s.auto_renew, s.cancel_at_period_end, s.cancel_at,
                              array(select o.class_type_id from product_class_types o
                                    where o.studio_id = of_studio and o.product_id = s.product_id) as class_type_ids,
                              array(select o.location_id from product_locations o
                                    where o.studio_id = of_studio and o.product_id = s.product_id) as location_ids
                       from memberships s
                       where s.studio_id = of_studio and s.member_id = m.id and s.status in ('active', 'paused')
                   ) each) as memberships,
               (select json_build_object('id', b.id, 'status', b.status) from bookings b
                where b.studio_id = of_studio and b.class_id = of_class and b.member_id = m.id
                  and b.status <> 'cancelled') as live_booking,
               array(select json_build_array(b.status, b.start_time, b.end_time) from bookings b
                     where b.studio_id = of_studio and b.member_id = m.id and b.class_id <> of_class
                       and b.status in ('confirmed', 'checked_in', 'no_show')
                       and b.start_time > class_begins - interval '7 days'
                       and b.start_time < greatest(class_ends, class_begins + interval '2 days')
                       and (b.start_time > class_begins - interval '2 days' or b.end_time > class_begins)) as bookings_nearby,
               array(select distinct f.form_id from form_submissions f
                     where f.studio_id = of_studio and f.member_id = m.id
                       and f.status in ('pending', 'confirmed')) as submitted_forms
        from unnest(of_members) as given(id)
        cross join lateral (select * from members m where m.studio_id = of_studio and m.id = given.id offset 0) m) facts;
    return found;
end
$$;

CREATE FUNCTION public.cancellation_facts(of_studio uuid, of_bookings uuid[]) RETURNS json
    LANGUAGE plpgsql
    AS $$
declare
    found json;
begin
    select coalesce(json_agg(facts), '[]') into found from (
        select b.id, b.class_id, b.member_id, b.status, b.policy::text, b.membership_id, b.credits_taken,
               b.class_spot_id, b.promoted_at,
               (select k.id from booking_cancellations k
                where k.studio_id = of_studio and k.booking_id = b.id) as cancellation_id,
               (select row_to_json(s) from memberships s
                where s.studio_id = of_studio and s.id = b.membership_id) as membership,
               case when b.status = 'waitlisted' then (
                   select row_to_json(e) from waitlist_entries e where e.studio_id = of_studio
                   and e.booking_id = b.id and e.status in ('waiting', 'offered')) end as entry,
               clock_timestamp() as now
        from bookings b
        where b.studio_id = of_studio and b.id = any(of_bookings)) facts;
    return found;
end
$$;

CREATE FUNCTION public.class_spots(of_studio uuid, of_class uuid) RETURNS json
    LANGUAGE plpgsql
    AS $$
declare
    found json;
begin
    select coalesce(json_agg(json_build_object('id', p.id, 'label', p.label, 'held', exists (
               select from bookings b where b.studio_id = of_studio and b.class_id = of_class and b.class_spot_id = p.id
               and b.status <> 'cancelled'))), '[]') into found
    from classes c join room_spots p on p.studio_id = c.studio_id and p.room_id = c.room_id
    where c.studio_id = of_studio and c.id = of_class and c.spot_selection_mode is not null;
    return found;
end
$$;

CREATE FUNCTION public.count_added_uploads() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into studio_upload_usage as u (studio_id, files, bytes)
    select a.studio_id, count(*), sum(a.size) from added a group by a.studio_id order by a.studio_id
    on conflict (studio_id) do update set files = u.files + excluded.files, bytes = u.bytes + excluded.bytes;
    insert into form_upload_usage as u (studio_id, form_id, files, bytes)
    select a.studio_id, a.form_id, count(*), sum(a.size) from added a group by a.studio_id, a.form_id
    on conflict (studio_id, form_id) do update set files = u.files + excluded.files, bytes = u.bytes + excluded.bytes;
    return null;
end
$$;

CREATE FUNCTION public.count_removed_uploads() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    update studio_upload_usage u set files = u.files - r.files, bytes = u.bytes - r.bytes
    from (select studio_id, count(*) as files, sum(size) as bytes from removed group by studio_id) r
    where u.studio_id = r.studio_id;
    update form_upload_usage u set files = u.files - r.files, bytes = u.bytes - r.bytes
    from (select studio_id, form_id, count(*) as files, sum(size) as bytes from removed group by studio_id, form_id) r
    where u.studio_id = r.studio_id and u.form_id = r.form_id;
    return null;
end
$$;

CREATE FUNCTION public.detach_from_series() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    new.detached := true;
    return new;
end
$$;

CREATE FUNCTION public.folded(written text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN replace(replace(replace(translate(regexp_replace(NORMALIZE(lower(written), NFD), '[\u0300-\u036f]'::text, ''::text, 'g'::text), 'øłđðħıŧ'::text, 'olddhit'::text), 'ß'::text, 'ss'::text), 'æ'::text, 'ae'::text), 'œ'::text, 'oe'::text);

CREATE FUNCTION public.grant_credits() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into credit_ledger (studio_id, id, membership_id, delta, reason)
    select added.studio_id, gen_random_uuid(), added.id, added.credits_remaining, 'granted'
    from added where added.credits_remaining > 0;
    return null;
end
$$;

CREATE FUNCTION public.keep_announced_status() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
    in_order constant text[] := array['scheduled', 'in_progress', 'completed'];
    now_is constant text := case when now() < new.start_time then 'scheduled'
                                 when now() < new.end_time then 'in_progress' else 'completed' end;
begin
    if tg_op = 'INSERT' or array_position(in_order, now_is) < array_position(in_order, new.announced_status) then
        new.announced_status := now_is;
    end if;
    return new;
end
$$;

CREATE FUNCTION public.keep_erased() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    new.first_name := old.first_name;
    new.last_name := old.last_name;
    new.email := old.email;
    new.phone := old.phone;
    new.staff_notes := old.staff_notes;
    new.membership_type := old.membership_type;
    new.suspended := old.suspended;
    new.erased_at := old.erased_at;
    return new;
end
$$;

CREATE FUNCTION public.keep_payments() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if tg_op = 'INSERT' then
        perform note_payment(new.studio_id, new.id, new.created_at);
        return null;
    end if;
    -- Another way for the same money is a correction. What was paid after a failed payment is other money.
    if new.paid_by is distinct from old.paid_by and old.status in ('completed', 'partially_refunded', 'refunded') then
        update purchase_payments set paid_by = new.paid_by where studio_id = new.studio_id and purchase_id = new.id;
    end if;
    perform note_payment(new.studio_id, new.id, clock_timestamp());
    return null;
end
$$;

CREATE FUNCTION public.lock_booking_members(of_studio uuid, of_classes uuid[], of_members uuid[], of_bookings uuid[], depth integer, OUT moving uuid[], OUT locked uuid[], OUT busy uuid[], OUT now timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
    people uuid[] := of_members;
    waited_for uuid[];
begin
    if of_classes is null then
        return;
    end if;
    busy := '{}';
    if array_position(of_members, null) is not null then
        people := array(
            select coalesce(each.member_id, (select b.member_id from bookings b
                                             where b.studio_id = of_studio and b.id = each.booking_id))
            from unnest(of_members, of_bookings) with ordinality as each(member_id, booking_id, place)
            order by each.place);
    end if;
    waited_for := people[1:1];
    moving := array(
        select c.id from classes c
        where c.studio_id = of_studio and c.id = any(of_classes) and c.waitlist_count > 0 and (
            c.booked_count < c.capacity or exists (
                select from unnest(of_classes, of_bookings) as each(class_id, booking_id)
                where each.class_id = c.id and each.booking_id is not null)));
    if moving <> '{}' then
        waited_for := waited_for || array(
            select w.member_id from waitlist_entries w
            where w.studio_id = of_studio and w.class_id = any(moving) and w.status = 'waiting' and w.position <= depth
        ) || array(
            select each.member_id from unnest(of_classes, people) as each(class_id, member_id)
            where each.class_id = any(moving));
    end if;
    locked := array(
        select m.id from members m where m.studio_id = of_studio and m.id = any(waited_for)
        order by m.id for no key update of m);
    if cardinality(people) > 1 then
        locked := locked || array(
            select m.id from members m
            where m.studio_id = of_studio and m.id = any(people) and m.id <> all(locked)
            for no key update of m skip locked);
    end if;
    if not people <@ locked then
        busy := array(
            select m.id from members m where m.studio_id = of_studio and m.id = any(people) and m.id <> all(locked));
    end if;
    now := clock_timestamp();
end
$$;

CREATE FUNCTION public.member_facts(of_studio uuid, of_class uuid, of_member uuid, class_begins timestamp with time zone, class_ends timestamp with time zone) RETURNS json
    LANGUAGE plpgsql
    AS $$
declare
    found json;
begin
    select row_to_json(facts) into found from (
        select m.id, m.suspended, (
                   select coalesce(json_agg(row_to_json(each)), '[]') from (
                       select s.id, s.status, s.credits_remaining, s.started_at, s.current_period_end,
                              s.pause_starts_at, s.pause_ends_at, s.auto_renew, s.cancel_at_period_end, s.cancel_at,
                              array(select o.class_type_id from product_class_types o
                                    where o.studio_id = of_studio and o.product_id = s.product_id) as class_type_ids,
                              array(select o.location_id from product_locations o
                                    where o.studio_id = of_studio and o.product_id = s.product_id) as location_ids
                       from memberships s
                       where s.studio_id = of_studio and s.member_id = of_member and s.status in ('active', 'paused')
                   ) each) as memberships,
               (select json_build_object('id', b.id, 'status', b.status) from bookings b
                where b.studio_id = of_studio and b.class_id = of_class and b.member_id = of_member
                  and b.status <> 'cancelled') as live_booking,
               array(select b.start_time from bookings b
                     where b.studio_id = of_studio and b.member_id = of_member and b.class_id <> of_class
                       and b.status in ('confirmed', 'checked_in', 'no_show')
                       and b.start_time > class_begins - interval '2 days'
                       and b.start_time < class_begins + interval '2 days') as bookings_nearby,
               exists (select from bookings b
                       where b.studio_id = of_studio and b.member_id = of_member and b.class_id <> of_class
                         and b.status in ('confirmed', 'checked_in')
                         and b.start_time < class_ends and b.start_time > class_begins - interval '7 days'
                         and b.end_time > class_begins) as overlapping,
               array(select distinct f.form_id from form_submissions f
                     where f.studio_id = of_studio and f.member_id = of_member
                       and f.status in ('pending', 'confirmed')) as submitted_forms
        from members m where m.studio_id = of_studio and m.id = of_member) facts;
    return found;
end
$$;

CREATE FUNCTION public.name_keys(of_studio uuid, written text) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE STRICT COST 1000 PARALLEL SAFE
    AS $$
declare
    seed text := ' ' || of_studio;
    word text;
    keys integer[] := '{}';
begin
    foreach word in array string_to_array(translate(left(written, 200), '-''’.', ' '), ' ') loop
        -- Two letters would be shared by too many words.
        if length(word) >= 3 then
            word := left(word, 16);
            keys := keys || hashtext(word || seed);
            if length(word) > 3 then
                for cut in 1..length(word) loop
                    keys := keys || hashtext(left(word, cut - 1) || substr(word, cut + 1) || seed);
                end loop;
            end if;
        end if;
    end loop;
    return keys;
end $$;

CREATE FUNCTION public.note_payment(of_studio uuid, of_purchase uuid, at timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    AS $$
begin
    insert into purchase_payments (studio_id, purchase_id, received_at, amount, paid_by)
    select u.studio_id, u.id, at, difference.amount, u.paid_by
    from purchases u cross join lateral (
        select case when u.status in ('completed', 'partially_refunded', 'refunded')
                    then coalesce(u.amount_total, 0) - coalesce(u.refunded_amount, 0) else 0 end
               - coalesce((select sum(p.amount) from purchase_payments p
                           where p.studio_id = u.studio_id and p.purchase_id = u.id), 0) as amount) difference
    where u.studio_id = of_studio and u.id = of_purchase and difference.amount <> 0;
    return 1;
end
$$;

CREATE FUNCTION public.note_picture() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if new.picture is not null then
        insert into pictures as p (studio_id, name) values (new.studio_id, new.picture)
        on conflict (studio_id, name) do update set unused_since = null where p.unused_since is not null;
    end if;
    if tg_op = 'UPDATE' then
        update pictures set unused_since = clock_timestamp()
        where studio_id = old.studio_id and name = old.picture;
    end if;
    return new;
end
$$;

CREATE FUNCTION public.raise_revision() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    new.revision := old.revision + 1;
    return new;
end
$$;

CREATE FUNCTION public.touch_updated_at() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    -- The moment of the change, not of the transaction's start: a reader that asks for what changed since its
    -- last visit then misses as little as a clock allows.
    new.updated_at := clock_timestamp();
    return new;
end
$$;

CREATE FUNCTION public.unlink_unverified_submission() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    new.member_id := null;
    return new;
end
$$;

CREATE TABLE public.audit_log (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    occurred_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    channel text NOT NULL,
    account_id uuid,
    actor_name text NOT NULL,
    address text,
    action text NOT NULL,
    subject_type text NOT NULL,
    subject_id uuid NOT NULL,
    changes jsonb DEFAULT '{}'::jsonb NOT NULL,
    reason text,
    transaction_id xid8 DEFAULT pg_current_xact_id(),
    CONSTRAINT audit_log_channel_check CHECK ((channel = ANY (ARRAY['console'::text, 'command'::text, 'import'::text, 'partner'::text, 'system'::text])))
);

CREATE TABLE public.booking_cancellations (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    booking_id uuid NOT NULL,
    member_id uuid NOT NULL,
    cancelled_at timestamp with time zone NOT NULL,
    cancellation_type text NOT NULL,
    late boolean NOT NULL,
    graced_for_promotion boolean NOT NULL,
    credits_forfeited integer NOT NULL,
    credits_returned integer NOT NULL,
    purchase_id uuid,
    receipt json NOT NULL,
    made_by text,
    CONSTRAINT booking_cancellations_cancellation_type_check CHECK ((cancellation_type = ANY (ARRAY['standard'::text, 'late'::text, 'graced'::text, 'studio'::text, 'moved'::text, 'class_cancelled'::text, 'waitlist_left'::text]))),
    CONSTRAINT booking_cancellations_credits_forfeited_check CHECK ((credits_forfeited = ANY (ARRAY[0, 1]))),
    CONSTRAINT booking_cancellations_credits_returned_check CHECK ((credits_returned = ANY (ARRAY[0, 1]))),
    CONSTRAINT booking_cancellations_once CHECK (((credits_forfeited + credits_returned) <= 1))
);

CREATE TABLE public.bookings (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    class_id uuid NOT NULL,
    member_id uuid NOT NULL,
    location_id uuid,
    start_time timestamp with time zone NOT NULL,
    end_time timestamp with time zone NOT NULL,
    status public.booking_status NOT NULL,
    booking_source text,
    class_spot_id uuid,
    membership_id uuid,
    credits_taken public.credit_count DEFAULT 0 NOT NULL,
    policy jsonb,
    promoted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    made_by text,
    moved_to_booking_id uuid,
    moved_from_booking_id uuid
);

CREATE TABLE public.class_availability (
    studio_id uuid NOT NULL,
    class_id uuid NOT NULL,
    capacity integer NOT NULL,
    booked_count integer NOT NULL,
    available_count integer NOT NULL,
    waitlist_count integer NOT NULL,
    announced_at timestamp with time zone,
    due_at timestamp with time zone
);

CREATE TABLE public.class_series (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    title text NOT NULL,
    description text,
    class_type_id uuid,
    location_id uuid NOT NULL,
    room_id uuid,
    instructor_id uuid,
    capacity public.head_count NOT NULL,
    allow_waitlist boolean DEFAULT true NOT NULL,
    spot_selection_mode public.spot_selection_mode,
    visible boolean DEFAULT true NOT NULL,
    policy public.booking_policy DEFAULT '{}'::jsonb NOT NULL,
    weekdays integer[] NOT NULL,
    local_start time without time zone NOT NULL,
    minutes integer NOT NULL,
    every_weeks integer DEFAULT 1 NOT NULL,
    first_date date NOT NULL,
    last_date date,
    generated_until date,
    revision integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT class_series_every_weeks_check CHECK (((every_weeks >= 1) AND (every_weeks <= 52))),
    CONSTRAINT class_series_minutes_check CHECK (((minutes >= 1) AND (minutes <= 10080))),
    CONSTRAINT class_series_weekdays_check CHECK (((cardinality(weekdays) >= 1) AND (cardinality(weekdays) <= 7)))
);

CREATE TABLE public.class_types (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    description text,
    beginner_safe boolean,
    recovery boolean,
    policy jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    active boolean DEFAULT true NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    picture text,
    CONSTRAINT class_types_policy_check CHECK ((jsonb_typeof(policy) = 'object'::text))
);

CREATE TABLE public.classes (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    title text NOT NULL,
    description text,
    class_type_id uuid,
    location_id uuid,
    room_id uuid,
    instructor_id uuid,
    start_time timestamp with time zone NOT NULL,
    end_time timestamp with time zone NOT NULL,
    capacity public.head_count NOT NULL,
    booked_count public.head_count DEFAULT 0 NOT NULL,
    waitlist_count public.head_count DEFAULT 0 NOT NULL,
    allow_waitlist boolean DEFAULT true NOT NULL,
    spot_selection_mode public.spot_selection_mode,
    status public.class_status DEFAULT 'scheduled'::text NOT NULL,
    visible boolean DEFAULT true NOT NULL,
    policy public.booking_policy DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    announced_status text DEFAULT 'scheduled'::text NOT NULL,
    series_id uuid,
    series_date date,
    detached boolean DEFAULT false NOT NULL,
    series_revision integer DEFAULT 0 NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT classes_announced_status CHECK ((announced_status = ANY (ARRAY['scheduled'::text, 'in_progress'::text, 'completed'::text]))),
    CONSTRAINT classes_calendar CHECK (((start_time >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (start_time < '2200-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT classes_duration CHECK (((end_time > start_time) AND (end_time <= (start_time + '7 days'::interval)))),
    CONSTRAINT classes_never_oversold CHECK ((((booked_count)::integer >= 0) AND ((booked_count)::integer <= (capacity)::integer)))
);

CREATE TABLE public.closures (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    location_id uuid,
    first_date date NOT NULL,
    last_date date NOT NULL,
    mode text NOT NULL,
    reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT closures_dates CHECK ((last_date >= first_date)),
    CONSTRAINT closures_mode_check CHECK ((mode = ANY (ARRAY['cancel'::text, 'skip'::text])))
);

CREATE TABLE public.credential_secrets (
    studio_id uuid NOT NULL,
    credential_id text NOT NULL,
    secret_hash bytea NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT credential_secrets_secret_hash_check CHECK ((octet_length(secret_hash) = 32))
);

CREATE TABLE public.credentials (
    studio_id uuid NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    location_ids uuid[],
    expires_at timestamp with time zone,
    rate_limit integer,
    created_by text NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT credentials_id_check CHECK ((id ~ '^[0-9A-Za-z]{8}$'::text)),
    CONSTRAINT credentials_location_ids_check CHECK ((cardinality(location_ids) > 0)),
    CONSTRAINT credentials_name_check CHECK ((name <> ''::text)),
    CONSTRAINT credentials_rate_limit_check CHECK ((rate_limit > 0)),
    CONSTRAINT credentials_scopes_check CHECK ((cardinality(scopes) > 0))
);

CREATE TABLE public.credit_ledger (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    membership_id uuid NOT NULL,
    booking_id uuid,
    delta integer NOT NULL,
    reason public.ledger_reason NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT credit_ledger_delta_of_reason CHECK (
CASE
    WHEN ((reason)::text = ANY (ARRAY['renewed'::text, 'granted'::text, 'opening'::text, 'adjusted'::text])) THEN (booking_id IS NULL)
    WHEN ((reason)::text = 'returned'::text) THEN ((delta = 1) AND (booking_id IS NOT NULL))
    WHEN ((reason)::text = 'forfeited'::text) THEN ((delta = 0) AND (booking_id IS NOT NULL))
    ELSE ((delta = '-1'::integer) AND (booking_id IS NOT NULL))
END)
);

CREATE TABLE public.daily_figures (
    studio_id uuid NOT NULL,
    dimension text NOT NULL,
    day date NOT NULL,
    location_id uuid NOT NULL,
    key text NOT NULL,
    classes integer DEFAULT 0 NOT NULL,
    capacity integer DEFAULT 0 NOT NULL,
    booked integer DEFAULT 0 NOT NULL,
    attended integer DEFAULT 0 NOT NULL,
    no_shows integer DEFAULT 0 NOT NULL,
    cancelled integer DEFAULT 0 NOT NULL,
    late integer DEFAULT 0 NOT NULL,
    waited integer DEFAULT 0 NOT NULL,
    promoted integer DEFAULT 0 NOT NULL,
    gained integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    amount numeric DEFAULT 0 NOT NULL
);

CREATE TABLE public.deployment (
    only_row boolean DEFAULT true NOT NULL,
    key_fingerprint bytea NOT NULL,
    seals_links boolean DEFAULT false NOT NULL,
    worker_seen_at timestamp with time zone,
    worker_sends_mail boolean,
    CONSTRAINT deployment_key_fingerprint_check CHECK ((length(key_fingerprint) = 16)),
    CONSTRAINT deployment_only_row_check CHECK (only_row)
);

CREATE TABLE public.event_heads (
    studio_id uuid NOT NULL,
    sequence bigint DEFAULT 0 NOT NULL,
    compared bigint DEFAULT 0
);

CREATE TABLE public.events (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    sequence public.event_sequence,
    type text NOT NULL,
    subject uuid NOT NULL,
    scopes text[] NOT NULL,
    place uuid NOT NULL,
    object json NOT NULL,
    previous_attributes json NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor public.event_actor DEFAULT 'partner'::text NOT NULL,
    silent boolean DEFAULT (COALESCE(current_setting('studiogate.silent'::text, true), ''::text) = 'on'::text) NOT NULL,
    transaction_id xid8 DEFAULT pg_current_xact_id(),
    merged_id uuid,
    CONSTRAINT events_scopes_check CHECK ((cardinality(scopes) > 0))
);

CREATE TABLE public.external_ids (
    studio_id uuid NOT NULL,
    source text NOT NULL,
    kind text NOT NULL,
    external_id text NOT NULL,
    row_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT external_ids_external_id_check CHECK (((length(external_id) >= 1) AND (length(external_id) <= 200))),
    CONSTRAINT external_ids_kind_check CHECK ((kind = ANY (ARRAY['members'::text, 'memberships'::text, 'schedule'::text, 'products'::text, 'leads'::text]))),
    CONSTRAINT external_ids_source_check CHECK (((length(source) >= 1) AND (length(source) <= 60)))
);

CREATE TABLE public.figure_cursors (
    studio_id uuid NOT NULL,
    sequence bigint NOT NULL,
    through date NOT NULL
);

CREATE TABLE public.figure_days (
    studio_id uuid NOT NULL,
    day date NOT NULL,
    is_due boolean DEFAULT true NOT NULL
);

CREATE TABLE public.form_drafts (
    studio_id uuid NOT NULL,
    form_id uuid NOT NULL,
    content text NOT NULL,
    form_version integer NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.form_submissions (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    form_id uuid NOT NULL,
    form_version integer NOT NULL,
    submitter_name text,
    submitter_email text NOT NULL,
    data jsonb DEFAULT '{}'::jsonb NOT NULL,
    consents jsonb DEFAULT '[]'::jsonb NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    member_id uuid,
    lead_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    verified boolean DEFAULT false NOT NULL,
    page_key bytea,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT form_submissions_consents_check CHECK ((jsonb_typeof(consents) = 'array'::text)),
    CONSTRAINT form_submissions_data_check CHECK ((jsonb_typeof(data) = 'object'::text)),
    CONSTRAINT form_submissions_member_is_verified CHECK ((verified OR (member_id IS NULL))),
    CONSTRAINT form_submissions_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'confirmed'::text, 'rejected'::text, 'spam'::text])))
);

CREATE TABLE public.form_upload_usage (
    studio_id uuid NOT NULL,
    form_id uuid NOT NULL,
    files bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.form_uploads (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    form_id uuid NOT NULL,
    field_key text NOT NULL,
    filename text NOT NULL,
    content_type text NOT NULL,
    size bigint NOT NULL,
    sha256 bytea NOT NULL,
    stored_name text NOT NULL,
    submission_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    place text,
    CONSTRAINT form_uploads_sha256_check CHECK ((length(sha256) = 32)),
    CONSTRAINT form_uploads_size_check CHECK ((size > 0)),
    CONSTRAINT form_uploads_stored_name_check CHECK ((stored_name ~ '^[0-9a-f]{32}$'::text))
);

CREATE TABLE public.form_versions (
    studio_id uuid NOT NULL,
    form_id uuid NOT NULL,
    version integer NOT NULL,
    fields json NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.forms (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    title text NOT NULL,
    slug text NOT NULL,
    description text,
    fields json DEFAULT '[]'::json NOT NULL,
    settings json DEFAULT '{}'::json NOT NULL,
    status text DEFAULT 'draft'::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    completed_version integer,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT forms_fields_check CHECK ((json_typeof(fields) = 'array'::text)),
    CONSTRAINT forms_settings_check CHECK ((json_typeof(settings) = 'object'::text)),
    CONSTRAINT forms_slug_check CHECK ((slug ~ '^[a-z0-9](-?[a-z0-9])*$'::text)),
    CONSTRAINT forms_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text, 'archived'::text]))),
    CONSTRAINT forms_title_check CHECK ((title <> ''::text)),
    CONSTRAINT forms_version_check CHECK ((version >= 1))
);

CREATE TABLE public.idempotency_keys (
    studio_id uuid NOT NULL,
    credential_id text NOT NULL,
    key public.idempotency_key NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint,
    body bytea,
    completed_at timestamp with time zone
);

CREATE TABLE public.instructors (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    tagline text DEFAULT ''::text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    active boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    picture text
);

CREATE TABLE public.leads (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    first_name text DEFAULT ''::text NOT NULL,
    last_name text DEFAULT ''::text NOT NULL,
    phone text,
    source text,
    status text DEFAULT 'new'::text NOT NULL,
    lifecycle_stage text DEFAULT 'lead'::text,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    staff_notes text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT leads_email_check CHECK ((email <> ''::text)),
    CONSTRAINT leads_lifecycle_stage_check CHECK ((lifecycle_stage = ANY (ARRAY['lead'::text, 'trial'::text, 'member'::text, 'former_member'::text]))),
    CONSTRAINT leads_metadata_check CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT leads_status_check CHECK ((status = ANY (ARRAY['new'::text, 'contacted'::text, 'qualified'::text, 'unqualified'::text, 'converted'::text, 'lost'::text])))
);

CREATE TABLE public.locations (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    city text NOT NULL,
    state text NOT NULL,
    timezone text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    is_primary boolean DEFAULT false NOT NULL,
    policy jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    line1 text,
    line2 text,
    postal_code text,
    country text,
    latitude double precision,
    longitude double precision,
    phone text,
    CONSTRAINT locations_policy_check CHECK ((jsonb_typeof(policy) = 'object'::text))
);

CREATE TABLE public.mail_cursors (
    studio_id uuid NOT NULL,
    sequence bigint DEFAULT 0 NOT NULL,
    CONSTRAINT mail_cursors_sequence_check CHECK ((sequence >= 0))
);

CREATE TABLE public.mails (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    submission_id uuid,
    kind text NOT NULL,
    recipient text,
    status text DEFAULT 'queued'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    problem text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    sent_at timestamp with time zone,
    account_id uuid,
    event_id uuid,
    booking_id uuid,
    member_id uuid,
    form_id uuid,
    expires_at timestamp with time zone,
    CONSTRAINT mails_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT mails_kind_check CHECK ((kind = ANY (ARRAY['notification'::text, 'confirmation'::text, 'staff_invitation'::text, 'staff_password_reset'::text, 'staff_sign_in'::text, 'booked'::text, 'waitlisted'::text, 'promoted'::text, 'class_changed'::text, 'class_cancelled'::text, 'booking_cancelled'::text, 'form_link'::text]))),
    CONSTRAINT mails_recipient_check CHECK ((recipient <> ''::text)),
    CONSTRAINT mails_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'sent'::text, 'failed'::text]))),
    CONSTRAINT mails_to_somebody CHECK (
CASE
    WHEN (kind = 'form_link'::text) THEN ((num_nonnulls(form_id, expires_at, member_id) = 3) AND (num_nonnulls(event_id, booking_id, submission_id, account_id, recipient) = 0))
    ELSE ((num_nonnulls(form_id, expires_at) = 0) AND (num_nonnulls(event_id, booking_id, member_id) = ANY (ARRAY[0, 3])) AND ((booking_id IS NULL) = (recipient IS NOT NULL)))
END)
);

CREATE TABLE public.members (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    first_name text NOT NULL,
    last_name text NOT NULL,
    name text GENERATED ALWAYS AS (btrim(((first_name || ' '::text) || last_name))) STORED NOT NULL,
    email text,
    phone text,
    role text DEFAULT 'member'::text NOT NULL,
    membership_type text,
    membership_start_date timestamp with time zone,
    membership_end_date timestamp with time zone,
    suspended boolean DEFAULT false NOT NULL,
    staff_notes text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    erased_at timestamp with time zone,
    CONSTRAINT members_email_check CHECK ((email <> ''::text)),
    CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['member'::text, 'user'::text, 'lead'::text])))
);

CREATE TABLE public.memberships (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    member_id uuid NOT NULL,
    product_id uuid NOT NULL,
    status public.membership_status NOT NULL,
    auto_renew boolean DEFAULT false NOT NULL,
    state_version integer DEFAULT 1 NOT NULL,
    started_at timestamp with time zone,
    current_period_start timestamp with time zone,
    current_period_end timestamp with time zone,
    paused_at timestamp with time zone,
    pause_starts_at timestamp with time zone,
    pause_ends_at timestamp with time zone,
    pause_reason text,
    cancel_at_period_end boolean DEFAULT false NOT NULL,
    cancel_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    cancellation_reason text,
    ended_at timestamp with time zone,
    credits_granted integer,
    credits_remaining integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    price_id uuid,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT memberships_credits_granted_check CHECK ((credits_granted >= 0)),
    CONSTRAINT memberships_credits_never_negative CHECK ((credits_remaining >= 0)),
    CONSTRAINT memberships_state_version_check CHECK ((state_version >= 1))
);

CREATE TABLE public.merged_people (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    member_id uuid NOT NULL,
    merged_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    email text,
    CONSTRAINT merged_people_kind_check CHECK ((kind = ANY (ARRAY['member'::text, 'lead'::text])))
);

CREATE TABLE public.pictures (
    studio_id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    unused_since timestamp with time zone,
    place text,
    CONSTRAINT pictures_name_check CHECK ((name ~ '^[0-9a-f]{32}\.jpg$'::text))
);

CREATE TABLE public.price_locations (
    studio_id uuid NOT NULL,
    price_id uuid NOT NULL,
    location_id uuid NOT NULL
);

CREATE TABLE public.prices (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    product_id uuid NOT NULL,
    amount numeric NOT NULL,
    currency text NOT NULL,
    price_type text NOT NULL,
    "interval" text,
    "default" boolean DEFAULT false NOT NULL,
    active boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT prices_amount_check CHECK ((amount >= (0)::numeric)),
    CONSTRAINT prices_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT prices_interval_check CHECK (("interval" = ANY (ARRAY['day'::text, 'week'::text, 'month'::text, 'year'::text]))),
    CONSTRAINT prices_interval_when_recurring CHECK ((("interval" IS NOT NULL) = (price_type = 'recurring'::text))),
    CONSTRAINT prices_price_type_check CHECK ((price_type = ANY (ARRAY['one_time'::text, 'recurring'::text])))
);

CREATE TABLE public.product_class_types (
    studio_id uuid NOT NULL,
    product_id uuid NOT NULL,
    class_type_id uuid NOT NULL
);

CREATE TABLE public.product_locations (
    studio_id uuid NOT NULL,
    product_id uuid NOT NULL,
    location_id uuid NOT NULL
);

CREATE TABLE public.products (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    key text NOT NULL,
    name text NOT NULL,
    product_type text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    client_visible boolean DEFAULT true NOT NULL,
    credits_granted integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT products_credits_granted_check CHECK ((credits_granted >= 0)),
    CONSTRAINT products_key_check CHECK ((key <> ''::text))
);

CREATE TABLE public.proven_backup (
    only_row boolean DEFAULT true NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    proven_at timestamp with time zone NOT NULL,
    CONSTRAINT proven_backup_only_row_check CHECK (only_row)
);

CREATE TABLE public.purchase_payments (
    studio_id uuid NOT NULL,
    purchase_id uuid NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    received_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    amount numeric NOT NULL,
    paid_by text,
    CONSTRAINT purchase_payments_amount_check CHECK ((amount <> (0)::numeric))
);

CREATE TABLE public.purchases (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    member_id uuid NOT NULL,
    product_id uuid,
    product_key text NOT NULL,
    product_type text NOT NULL,
    quantity integer DEFAULT 1 NOT NULL,
    amount_total numeric,
    currency text,
    refunded_amount numeric,
    status text,
    location_id uuid,
    booking_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    paid_by text,
    CONSTRAINT purchases_amount_total_check CHECK ((amount_total >= (0)::numeric)),
    CONSTRAINT purchases_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT purchases_paid_by_check CHECK ((paid_by = ANY (ARRAY['cash'::text, 'card'::text, 'transfer'::text, 'other'::text]))),
    CONSTRAINT purchases_quantity_check CHECK ((quantity >= 1)),
    CONSTRAINT purchases_refunded_amount_check CHECK ((refunded_amount >= (0)::numeric)),
    CONSTRAINT purchases_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'completed'::text, 'failed'::text, 'cancelled'::text, 'partially_refunded'::text, 'refunded'::text])))
);

CREATE TABLE public.removed_files (
    studio_id uuid NOT NULL,
    stored_name text NOT NULL,
    removed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.renewals (
    studio_id uuid NOT NULL,
    membership_id uuid NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone NOT NULL,
    purchase_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT renewals_period CHECK ((period_end > period_start))
);

CREATE TABLE public.request_log (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    credential_id text NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    method text NOT NULL,
    route text NOT NULL,
    status integer NOT NULL,
    code text,
    milliseconds real NOT NULL,
    bytes bigint NOT NULL,
    request_id text NOT NULL,
    unlisted integer DEFAULT 0 NOT NULL
);

CREATE TABLE public.room_spots (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    room_id uuid NOT NULL,
    label text NOT NULL,
    x double precision,
    y double precision,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    revision integer DEFAULT 1 NOT NULL
);

CREATE TABLE public.rooms (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    location_id uuid NOT NULL,
    name text NOT NULL,
    capacity integer NOT NULL,
    active boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    CONSTRAINT rooms_capacity_check CHECK ((capacity >= 0))
);

CREATE TABLE public.sales (
    studio_id uuid NOT NULL,
    membership_id uuid NOT NULL,
    purchase_id uuid NOT NULL,
    price_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.schema_migrations (
    version text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    needs text
);

CREATE TABLE public.schema_migrations_since (
    version text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    needs text
);

CREATE TABLE public.staff_accounts (
    id uuid NOT NULL,
    email text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    password_hash text,
    totp_secret bytea,
    totp_confirmed_at timestamp with time zone,
    totp_last_step bigint,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT staff_accounts_email_check CHECK ((email <> ''::text)),
    CONSTRAINT staff_accounts_password_hash_check CHECK ((password_hash ~~ '$argon2id$%'::text)),
    CONSTRAINT staff_accounts_second_factor CHECK (((totp_confirmed_at IS NULL) OR (totp_secret IS NOT NULL)))
);

CREATE TABLE public.staff_form_tokens (
    studio_id uuid NOT NULL,
    account_id uuid NOT NULL,
    token text NOT NULL,
    claimed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    location text,
    request_id uuid,
    CONSTRAINT staff_form_tokens_token_check CHECK ((token <> ''::text))
);

CREATE TABLE public.staff_links (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    purpose text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT staff_links_purpose_check CHECK ((purpose = ANY (ARRAY['invitation'::text, 'password_reset'::text, 'sign_in'::text]))),
    CONSTRAINT staff_links_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE public.staff_roles (
    studio_id uuid NOT NULL,
    account_id uuid NOT NULL,
    role text NOT NULL,
    location_ids uuid[],
    instructor_id uuid,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT staff_roles_instructor_has_one CHECK (((role = 'instructor'::text) = (instructor_id IS NOT NULL))),
    CONSTRAINT staff_roles_location_ids_check CHECK ((cardinality(location_ids) > 0)),
    CONSTRAINT staff_roles_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'manager'::text, 'front_desk'::text, 'instructor'::text, 'developer'::text])))
);

CREATE TABLE public.staff_sessions (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    chosen_studio_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    address text NOT NULL,
    user_agent text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    password_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    device_hash bytea,
    CONSTRAINT staff_sessions_device_hash_check CHECK ((octet_length(device_hash) = 32)),
    CONSTRAINT staff_sessions_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE public.staff_sign_in_attempts (
    id uuid NOT NULL,
    kind text NOT NULL,
    email_key bytea NOT NULL,
    address text NOT NULL,
    attempted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT staff_sign_in_attempts_email_key_check CHECK ((octet_length(email_key) = 32))
);

CREATE TABLE public.studio_logos (
    studio_id uuid NOT NULL,
    name text NOT NULL,
    content_type text NOT NULL,
    content bytea NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT studio_logos_name_check CHECK ((name ~ '^[0-9a-f]{16}\.(png|jpg|webp)$'::text))
);

CREATE TABLE public.studio_secrets (
    studio_id uuid NOT NULL,
    link_secret bytea DEFAULT decode(replace(((gen_random_uuid())::text || (gen_random_uuid())::text), '-'::text, ''::text), 'hex'::text) NOT NULL,
    CONSTRAINT studio_secrets_link_secret_check CHECK ((length(link_secret) = ANY (ARRAY[32, 60])))
);

CREATE TABLE public.studio_upload_usage (
    studio_id uuid NOT NULL,
    files bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.studios (
    studio_id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    timezone text NOT NULL,
    logo_url text,
    primary_color text,
    currency text NOT NULL,
    country text NOT NULL,
    test boolean DEFAULT false NOT NULL,
    policy jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    schedule_weeks_ahead integer DEFAULT 8 NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    mail_switches jsonb DEFAULT '{}'::jsonb NOT NULL,
    hour_cycle text,
    date_order text,
    CONSTRAINT studios_country_check CHECK ((country ~ '^[A-Z]{2}$'::text)),
    CONSTRAINT studios_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT studios_mail_switches_check CHECK ((jsonb_typeof(mail_switches) = 'object'::text)),
    CONSTRAINT studios_name_check CHECK ((name <> ''::text)),
    CONSTRAINT studios_policy_check CHECK ((jsonb_typeof(policy) = 'object'::text)),
    CONSTRAINT studios_slug_check CHECK ((slug ~ '^[a-z0-9](-?[a-z0-9])*$'::text))
);

CREATE TABLE public.waitlist_entries (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    class_id uuid NOT NULL,
    member_id uuid NOT NULL,
    booking_id uuid NOT NULL,
    location_id uuid,
    "position" integer,
    status text NOT NULL,
    promoted_at timestamp with time zone,
    skip_reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT waitlist_entries_position_check CHECK (("position" >= 1)),
    CONSTRAINT waitlist_entries_position_while_waiting CHECK (((status = 'waiting'::text) = ("position" IS NOT NULL))),
    CONSTRAINT waitlist_entries_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'offered'::text, 'converted'::text, 'expired'::text, 'cancelled'::text])))
);

CREATE TABLE public.webhook_attempts (
    studio_id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    number integer NOT NULL,
    attempted_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    status integer,
    error text,
    response text,
    CONSTRAINT webhook_attempts_number_check CHECK ((number >= 1)),
    CONSTRAINT webhook_attempts_status_check CHECK (((status >= 100) AND (status <= 999)))
);

CREATE TABLE public.webhook_deliveries (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_id uuid,
    event_type text NOT NULL,
    body text,
    status text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    claim uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT webhook_deliveries_of_event_or_test CHECK (((event_id IS NULL) = (body IS NOT NULL))),
    CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text, 'withheld'::text])))
);

CREATE TABLE public.webhook_endpoints (
    studio_id uuid NOT NULL,
    id uuid NOT NULL,
    credential_id text NOT NULL,
    url text NOT NULL,
    event_types text[] NOT NULL,
    description text,
    enabled boolean DEFAULT true NOT NULL,
    disabled_reason text,
    disabled_at timestamp with time zone,
    failing_since timestamp with time zone,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_secret_until timestamp with time zone,
    deleted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    earlier_secrets bytea[] DEFAULT '{}'::bytea[] NOT NULL,
    earlier_secrets_until timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    CONSTRAINT webhook_endpoints_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['gone'::text, 'failing'::text]))),
    CONSTRAINT webhook_endpoints_event_types_check CHECK ((cardinality(event_types) > 0))
);

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.booking_cancellations
    ADD CONSTRAINT booking_cancellations_booking_key UNIQUE (studio_id, booking_id);

ALTER TABLE ONLY public.booking_cancellations
    ADD CONSTRAINT booking_cancellations_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.bookings
    ADD CONSTRAINT bookings_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.class_availability
    ADD CONSTRAINT class_availability_pkey PRIMARY KEY (studio_id, class_id);

ALTER TABLE ONLY public.class_series
    ADD CONSTRAINT class_series_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.class_types
    ADD CONSTRAINT class_types_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.classes
    ADD CONSTRAINT classes_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.closures
    ADD CONSTRAINT closures_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.credential_secrets
    ADD CONSTRAINT credential_secrets_pkey PRIMARY KEY (studio_id, credential_id, secret_hash);

ALTER TABLE ONLY public.credentials
    ADD CONSTRAINT credentials_id_key UNIQUE (id);

ALTER TABLE ONLY public.credentials
    ADD CONSTRAINT credentials_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.credit_ledger
    ADD CONSTRAINT credit_ledger_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.daily_figures
    ADD CONSTRAINT daily_figures_pkey PRIMARY KEY (studio_id, dimension, day, location_id, key);

ALTER TABLE ONLY public.deployment
    ADD CONSTRAINT deployment_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.event_heads
    ADD CONSTRAINT event_heads_pkey PRIMARY KEY (studio_id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.external_ids
    ADD CONSTRAINT external_ids_pkey PRIMARY KEY (studio_id, source, kind, external_id);

ALTER TABLE ONLY public.figure_cursors
    ADD CONSTRAINT figure_cursors_pkey PRIMARY KEY (studio_id);

ALTER TABLE ONLY public.figure_days
    ADD CONSTRAINT figure_days_pkey PRIMARY KEY (studio_id, day);

ALTER TABLE ONLY public.form_drafts
    ADD CONSTRAINT form_drafts_pkey PRIMARY KEY (studio_id, form_id);

ALTER TABLE ONLY public.form_submissions
    ADD CONSTRAINT form_submissions_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.form_upload_usage
    ADD CONSTRAINT form_upload_usage_pkey PRIMARY KEY (studio_id, form_id);

ALTER TABLE ONLY public.form_uploads
    ADD CONSTRAINT form_uploads_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.form_uploads
    ADD CONSTRAINT form_uploads_stored_name_key UNIQUE (studio_id, stored_name);

ALTER TABLE ONLY public.form_versions
    ADD CONSTRAINT form_versions_pkey PRIMARY KEY (studio_id, form_id, version);

ALTER TABLE ONLY public.forms
    ADD CONSTRAINT forms_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.forms
    ADD CONSTRAINT forms_slug_key UNIQUE (studio_id, slug);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (studio_id, credential_id, key);

ALTER TABLE ONLY public.instructors
    ADD CONSTRAINT instructors_pkey PRIMARY KEY (studio_id, id);

ALTER DOMAIN public.event_actor
    ADD CONSTRAINT known CHECK ((VALUE = ANY (ARRAY['partner'::text, 'staff'::text, 'visitor'::text, 'system'::text]))) NOT VALID;

ALTER DOMAIN public.ledger_reason
    ADD CONSTRAINT known CHECK ((VALUE = ANY (ARRAY['booked'::text, 'promoted'::text, 'returned'::text, 'forfeited'::text, 'renewed'::text, 'granted'::text, 'opening'::text, 'adjusted'::text]))) NOT VALID;

ALTER TABLE ONLY public.leads
    ADD CONSTRAINT leads_email_key UNIQUE (studio_id, email);

ALTER TABLE ONLY public.leads
    ADD CONSTRAINT leads_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.locations
    ADD CONSTRAINT locations_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.mail_cursors
    ADD CONSTRAINT mail_cursors_pkey PRIMARY KEY (studio_id);

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.merged_people
    ADD CONSTRAINT merged_people_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.pictures
    ADD CONSTRAINT pictures_pkey PRIMARY KEY (studio_id, name);

ALTER TABLE ONLY public.price_locations
    ADD CONSTRAINT price_locations_pkey PRIMARY KEY (studio_id, price_id, location_id);

ALTER TABLE ONLY public.prices
    ADD CONSTRAINT prices_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.product_class_types
    ADD CONSTRAINT product_class_types_pkey PRIMARY KEY (studio_id, product_id, class_type_id);

ALTER TABLE ONLY public.product_locations
    ADD CONSTRAINT product_locations_pkey PRIMARY KEY (studio_id, product_id, location_id);

ALTER TABLE ONLY public.products
    ADD CONSTRAINT products_key_key UNIQUE (studio_id, key);

ALTER TABLE ONLY public.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.proven_backup
    ADD CONSTRAINT proven_backup_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.purchase_payments
    ADD CONSTRAINT purchase_payments_pkey PRIMARY KEY (studio_id, purchase_id, id);

ALTER TABLE ONLY public.purchases
    ADD CONSTRAINT purchases_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.removed_files
    ADD CONSTRAINT removed_files_pkey PRIMARY KEY (studio_id, stored_name);

ALTER TABLE ONLY public.renewals
    ADD CONSTRAINT renewals_pkey PRIMARY KEY (studio_id, membership_id, period_start);

ALTER TABLE ONLY public.renewals
    ADD CONSTRAINT renewals_purchase_key UNIQUE (studio_id, purchase_id);

ALTER TABLE ONLY public.request_log
    ADD CONSTRAINT request_log_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.room_spots
    ADD CONSTRAINT room_spots_label_key UNIQUE (studio_id, room_id, label);

ALTER TABLE ONLY public.room_spots
    ADD CONSTRAINT room_spots_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.rooms
    ADD CONSTRAINT rooms_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.sales
    ADD CONSTRAINT sales_pkey PRIMARY KEY (studio_id, membership_id);

ALTER TABLE ONLY public.sales
    ADD CONSTRAINT sales_purchase_key UNIQUE (studio_id, purchase_id);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.schema_migrations_since
    ADD CONSTRAINT schema_migrations_since_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.staff_accounts
    ADD CONSTRAINT staff_accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.staff_form_tokens
    ADD CONSTRAINT staff_form_tokens_pkey PRIMARY KEY (studio_id, account_id, token);

ALTER TABLE ONLY public.staff_links
    ADD CONSTRAINT staff_links_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.staff_links
    ADD CONSTRAINT staff_links_token_key UNIQUE (token_hash);

ALTER TABLE ONLY public.staff_roles
    ADD CONSTRAINT staff_roles_pkey PRIMARY KEY (studio_id, account_id);

ALTER TABLE ONLY public.staff_sessions
    ADD CONSTRAINT staff_sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.staff_sessions
    ADD CONSTRAINT staff_sessions_token_key UNIQUE (token_hash);

ALTER TABLE public.staff_sign_in_attempts
    ADD CONSTRAINT staff_sign_in_attempts_kind_check CHECK ((kind = ANY (ARRAY['sign_in'::text, 'known_device'::text, 'link'::text, 'session'::text, 'password_reset'::text]))) NOT VALID;

ALTER TABLE ONLY public.staff_sign_in_attempts
    ADD CONSTRAINT staff_sign_in_attempts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.studio_logos
    ADD CONSTRAINT studio_logos_pkey PRIMARY KEY (studio_id);

ALTER TABLE ONLY public.studio_secrets
    ADD CONSTRAINT studio_secrets_pkey PRIMARY KEY (studio_id);

ALTER TABLE ONLY public.studio_upload_usage
    ADD CONSTRAINT studio_upload_usage_pkey PRIMARY KEY (studio_id);

ALTER TABLE ONLY public.studios
    ADD CONSTRAINT studios_pkey PRIMARY KEY (studio_id);

ALTER TABLE ONLY public.studios
    ADD CONSTRAINT studios_slug_key UNIQUE (slug);

ALTER TABLE ONLY public.waitlist_entries
    ADD CONSTRAINT waitlist_entries_booking_key UNIQUE (studio_id, booking_id);

ALTER TABLE ONLY public.waitlist_entries
    ADD CONSTRAINT waitlist_entries_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.webhook_attempts
    ADD CONSTRAINT webhook_attempts_pkey PRIMARY KEY (studio_id, delivery_id, number);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (studio_id, id);

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (studio_id, id);

CREATE INDEX audit_log_by_time ON public.audit_log USING btree (studio_id, occurred_at, id);

CREATE INDEX audit_log_of_subject ON public.audit_log USING btree (studio_id, subject_id, occurred_at, id);

CREATE INDEX booking_cancellations_late ON public.booking_cancellations USING btree (studio_id, member_id, cancelled_at) WHERE (late AND (NOT graced_for_promotion));

CREATE INDEX bookings_by_location ON public.bookings USING btree (studio_id, location_id, status, created_at DESC, id DESC);

CREATE INDEX bookings_by_status ON public.bookings USING btree (studio_id, status, created_at DESC, id DESC);

CREATE INDEX bookings_changed ON public.bookings USING btree (studio_id, updated_at, created_at, id);

CREATE INDEX bookings_list ON public.bookings USING btree (studio_id, created_at DESC, id DESC);

CREATE INDEX bookings_of_class ON public.bookings USING btree (studio_id, class_id, created_at DESC, id DESC);

CREATE INDEX bookings_of_member ON public.bookings USING btree (studio_id, member_id, created_at DESC, id DESC);

CREATE INDEX bookings_of_member_by_time ON public.bookings USING btree (studio_id, member_id, start_time) WHERE ((status)::text = ANY (ARRAY['confirmed'::text, 'checked_in'::text, 'no_show'::text]));

CREATE INDEX bookings_of_spot ON public.bookings USING btree (studio_id, class_spot_id, start_time) WHERE (class_spot_id IS NOT NULL);

CREATE UNIQUE INDEX bookings_one_live ON public.bookings USING btree (studio_id, class_id, member_id) WHERE ((status)::text <> 'cancelled'::text);

CREATE UNIQUE INDEX bookings_spot_held_once ON public.bookings USING btree (studio_id, class_id, class_spot_id) WHERE (((status)::text <> 'cancelled'::text) AND (class_spot_id IS NOT NULL));

CREATE INDEX class_availability_due ON public.class_availability USING btree (studio_id, due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX class_series_of_location ON public.class_series USING btree (studio_id, location_id, id);

CREATE INDEX class_types_changed ON public.class_types USING btree (studio_id, updated_at, created_at, id);

CREATE INDEX class_types_list ON public.class_types USING btree (studio_id, created_at DESC, id DESC);

CREATE INDEX classes_ahead ON public.classes USING btree (studio_id, start_time, id) WHERE (((status)::text = 'scheduled'::text) AND (announced_status <> 'completed'::text));

CREATE INDEX classes_by_location ON public.classes USING btree (studio_id, location_id, start_time, id);

CREATE INDEX classes_cancelled ON public.classes USING btree (studio_id, start_time, id) WHERE ((status)::text = 'cancelled'::text);

CREATE INDEX classes_cancelled_by_location ON public.classes USING btree (studio_id, location_id, start_time, id) WHERE ((status)::text = 'cancelled'::text);

CREATE INDEX classes_changed ON public.classes USING btree (studio_id, updated_at, start_time, id);

CREATE INDEX classes_list ON public.classes USING btree (studio_id, start_time, id);

CREATE INDEX classes_of_instructor ON public.classes USING btree (studio_id, instructor_id, start_time, id);

CREATE UNIQUE INDEX classes_of_series ON public.classes USING btree (studio_id, series_id, series_date) WHERE (series_id IS NOT NULL);

CREATE INDEX classes_of_type ON public.classes USING btree (studio_id, class_type_id, start_time, id);

CREATE INDEX classes_with_waitlist ON public.classes USING btree (studio_id, start_time, id) WHERE ((waitlist_count)::integer > 0);

CREATE INDEX closures_by_date ON public.closures USING btree (studio_id, last_date, id);

CREATE INDEX credit_ledger_of_membership ON public.credit_ledger USING btree (studio_id, membership_id, created_at);

CREATE UNIQUE INDEX credit_ledger_settled_once ON public.credit_ledger USING btree (studio_id, booking_id) WHERE (delta <> '-1'::integer);

CREATE UNIQUE INDEX credit_ledger_taken_once ON public.credit_ledger USING btree (studio_id, booking_id) WHERE (delta = '-1'::integer);

CREATE INDEX daily_figures_of_day ON public.daily_figures USING btree (studio_id, day);

CREATE INDEX events_by_place ON public.events USING btree (studio_id, place, type, sequence) WHERE (sequence IS NOT NULL);

CREATE INDEX events_by_subject ON public.events USING btree (studio_id, subject, sequence) WHERE (sequence IS NOT NULL);

CREATE INDEX events_by_type ON public.events USING btree (studio_id, type, sequence) WHERE (sequence IS NOT NULL);

CREATE UNIQUE INDEX events_log ON public.events USING btree (studio_id, sequence) WHERE (sequence IS NOT NULL);

CREATE INDEX events_unsequenced ON public.events USING btree (studio_id, created_at, id) WHERE (sequence IS NULL);

CREATE INDEX external_ids_of_row ON public.external_ids USING btree (studio_id, row_id);

CREATE INDEX figure_days_due ON public.figure_days USING btree (studio_id, day DESC) WHERE is_due;

CREATE INDEX form_submissions_by_email ON public.form_submissions USING btree (studio_id, form_id, submitter_email);

CREATE INDEX form_submissions_changed ON public.form_submissions USING btree (studio_id, form_id, updated_at, created_at, id);

CREATE INDEX form_submissions_inbox ON public.form_submissions USING btree (studio_id, status, created_at DESC, id DESC);

CREATE INDEX form_submissions_inbox_of_form ON public.form_submissions USING btree (studio_id, form_id, status, created_at DESC, id DESC);

CREATE INDEX form_submissions_list ON public.form_submissions USING btree (studio_id, form_id, created_at DESC, id DESC);

CREATE INDEX form_submissions_not_of_a_member ON public.form_submissions USING btree (studio_id, submitter_email) WHERE (member_id IS NULL);

CREATE INDEX form_submissions_of_member ON public.form_submissions USING btree (studio_id, member_id, form_id) WHERE (member_id IS NOT NULL);

CREATE UNIQUE INDEX form_submissions_page_key ON public.form_submissions USING btree (studio_id, page_key) WHERE (page_key IS NOT NULL);

CREATE INDEX form_submissions_verified_by_email ON public.form_submissions USING btree (studio_id, form_id, submitter_email) WHERE (verified AND (status = ANY (ARRAY['pending'::text, 'confirmed'::text])));

CREATE INDEX form_uploads_of_submission ON public.form_uploads USING btree (studio_id, submission_id) WHERE (submission_id IS NOT NULL);

CREATE INDEX form_uploads_waiting ON public.form_uploads USING btree (studio_id, created_at) WHERE (submission_id IS NULL);

CREATE INDEX forms_list ON public.forms USING btree (studio_id, created_at DESC, id DESC);

CREATE INDEX forms_published ON public.forms USING btree (studio_id, created_at DESC, id DESC) WHERE (status = 'published'::text);

CREATE INDEX idempotency_keys_completed ON public.idempotency_keys USING btree (studio_id, completed_at);

CREATE INDEX instructors_changed ON public.instructors USING btree (studio_id, updated_at, created_at, id) WHERE active;

CREATE INDEX instructors_list ON public.instructors USING btree (studio_id, created_at DESC, id DESC) WHERE active;

CREATE INDEX leads_by_form ON public.leads USING btree (studio_id, ((((metadata -> 'form_submissions'::text) -> '-1'::integer) ->> 'form_id'::text)), status, created_at DESC, id DESC) WHERE ((((metadata -> 'form_submissions'::text) -> '-1'::integer) ->> 'form_id'::text) IS NOT NULL);

CREATE INDEX leads_by_source ON public.leads USING btree (studio_id, COALESCE(source, ''::text), status, created_at DESC, id DESC);

CREATE INDEX leads_by_status ON public.leads USING btree (studio_id, status, created_at DESC, id DESC);

CREATE INDEX leads_changed ON public.leads USING btree (studio_id, updated_at, created_at, id);

CREATE INDEX leads_list ON public.leads USING btree (studio_id, created_at DESC, id DESC);

CREATE INDEX locations_changed ON public.locations USING btree (studio_id, updated_at, created_at, id);

CREATE INDEX locations_list ON public.locations USING btree (studio_id, created_at DESC, id DESC);

CREATE UNIQUE INDEX locations_one_primary ON public.locations USING btree (studio_id) WHERE is_primary;

CREATE INDEX mails_confirmations ON public.mails USING btree (studio_id, recipient, created_at) WHERE (kind = 'confirmation'::text);

CREATE INDEX mails_done ON public.mails USING btree (studio_id, created_at) WHERE (status <> 'queued'::text);

CREATE INDEX mails_due ON public.mails USING btree (studio_id, due_at) WHERE (status = 'queued'::text);

CREATE INDEX mails_of_account ON public.mails USING btree (studio_id, account_id) WHERE (account_id IS NOT NULL);

CREATE INDEX mails_of_booking ON public.mails USING btree (studio_id, booking_id) WHERE (booking_id IS NOT NULL);

CREATE INDEX mails_of_form ON public.mails USING btree (studio_id, form_id) WHERE (form_id IS NOT NULL);

CREATE INDEX mails_of_member ON public.mails USING btree (studio_id, member_id, created_at) WHERE (member_id IS NOT NULL);

CREATE UNIQUE INDEX mails_once_per_event ON public.mails USING btree (studio_id, event_id, booking_id) WHERE (event_id IS NOT NULL);

CREATE INDEX members_by_folded_first_name ON public.members USING btree (studio_id, public.folded(first_name) COLLATE "C", id);

CREATE INDEX members_by_folded_last_name ON public.members USING btree (studio_id, public.folded(last_name) COLLATE "C", id);

CREATE INDEX members_by_folded_last_part ON public.members USING btree (studio_id, public.folded("substring"(last_name, '[^ -]+$'::text)) COLLATE "C", id) WHERE (last_name ~ '[ -]'::text);

CREATE INDEX members_by_similar_name ON public.members USING gin (public.name_keys(studio_id, public.folded(name))) WITH (gin_pending_list_limit='1024');

CREATE INDEX members_changed ON public.members USING btree (studio_id, updated_at, created_at, id);

CREATE UNIQUE INDEX members_email_key ON public.members USING btree (studio_id, email);

CREATE INDEX members_in_order_of_email ON public.members USING btree (studio_id, email COLLATE "C", id);

CREATE INDEX members_in_order_of_phone ON public.members USING btree (studio_id, reverse(phone) COLLATE "C", id);

CREATE INDEX members_list ON public.members USING btree (studio_id, created_at DESC, id DESC);

CREATE INDEX members_suspended ON public.members USING btree (studio_id, created_at DESC, id DESC) WHERE suspended;

CREATE INDEX memberships_by_status ON public.memberships USING btree (studio_id, status, created_at DESC, id DESC) WHERE (COALESCE((status)::text, ''::text) <> ''::text);

CREATE INDEX memberships_cancel_due ON public.memberships USING btree (studio_id, cancel_at) WHERE (((status)::text = ANY (ARRAY['active'::text, 'paused'::text, 'past_due'::text])) AND (cancel_at IS NOT NULL));

CREATE INDEX memberships_ended ON public.memberships USING btree (studio_id, ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX memberships_of_member ON public.memberships USING btree (studio_id, member_id, created_at DESC, id DESC);

CREATE INDEX memberships_pause_due ON public.memberships USING btree (studio_id, pause_starts_at) WHERE (((status)::text = 'active'::text) AND (pause_starts_at IS NOT NULL));

CREATE INDEX memberships_period_due ON public.memberships USING btree (studio_id, current_period_end) WHERE ((status)::text = 'active'::text);

CREATE INDEX memberships_renewing ON public.memberships USING btree (studio_id, COALESCE(current_period_end, 'infinity'::timestamp with time zone), id) WHERE (((status)::text = 'active'::text) AND auto_renew);

CREATE INDEX memberships_resume_due ON public.memberships USING btree (studio_id, pause_ends_at) WHERE (((status)::text = 'paused'::text) AND (pause_ends_at IS NOT NULL));

CREATE INDEX memberships_started ON public.memberships USING btree (studio_id, started_at) WHERE (started_at IS NOT NULL);

CREATE INDEX memberships_unpaid_due ON public.memberships USING btree (studio_id, current_period_end) WHERE ((status)::text = 'past_due'::text);

CREATE INDEX merged_people_by_email ON public.merged_people USING btree (studio_id, email) WHERE (email IS NOT NULL);

CREATE INDEX merged_people_of_member ON public.merged_people USING btree (studio_id, member_id);

CREATE INDEX pictures_given_up ON public.pictures USING btree (studio_id, unused_since) WHERE (unused_since IS NOT NULL);

CREATE INDEX prices_of_product ON public.prices USING btree (studio_id, product_id, created_at DESC, id DESC);

CREATE INDEX products_list ON public.products USING btree (studio_id, active, created_at DESC, id DESC);

CREATE INDEX purchase_payments_by_time ON public.purchase_payments USING btree (studio_id, received_at);

CREATE INDEX purchases_by_location ON public.purchases USING btree (studio_id, location_id, created_at DESC, id DESC);

CREATE INDEX purchases_by_location_and_status ON public.purchases USING btree (studio_id, location_id, COALESCE(status, 'pending'::text), created_at DESC, id DESC);

CREATE INDEX purchases_by_status ON public.purchases USING btree (studio_id, COALESCE(status, 'pending'::text), created_at DESC, id DESC);

CREATE INDEX purchases_changed ON public.purchases USING btree (studio_id, updated_at, created_at, id);

CREATE INDEX purchases_list ON public.purchases USING btree (studio_id, created_at DESC, id DESC);

CREATE INDEX purchases_of_member ON public.purchases USING btree (studio_id, member_id, created_at DESC, id DESC);

CREATE UNIQUE INDEX purchases_one_fee_a_booking ON public.purchases USING btree (studio_id, booking_id) WHERE (booking_id IS NOT NULL);

CREATE INDEX purchases_open_fees ON public.purchases USING btree (studio_id, created_at DESC, id DESC) WHERE ((product_type = 'fee'::text) AND (COALESCE(status, 'pending'::text) = ANY (ARRAY['pending'::text, 'failed'::text])));

CREATE INDEX purchases_open_fees_of_member ON public.purchases USING btree (studio_id, member_id, created_at DESC, id DESC) WHERE ((product_type = 'fee'::text) AND (COALESCE(status, 'pending'::text) = ANY (ARRAY['pending'::text, 'failed'::text])));

CREATE INDEX request_log_by_key ON public.request_log USING btree (studio_id, credential_id, occurred_at, id);

CREATE INDEX request_log_by_time ON public.request_log USING btree (studio_id, occurred_at, id);

CREATE INDEX room_spots_list ON public.room_spots USING btree (studio_id, room_id, created_at DESC, id DESC);

CREATE INDEX rooms_by_location ON public.rooms USING btree (studio_id, location_id, created_at DESC, id DESC);

CREATE INDEX rooms_changed ON public.rooms USING btree (studio_id, updated_at, created_at, id);

CREATE INDEX rooms_list ON public.rooms USING btree (studio_id, created_at DESC, id DESC);

CREATE UNIQUE INDEX staff_accounts_email_key ON public.staff_accounts USING btree (lower(email));

CREATE INDEX staff_form_tokens_by_age ON public.staff_form_tokens USING btree (studio_id, claimed_at);

CREATE INDEX staff_links_by_age ON public.staff_links USING btree (expires_at);

CREATE INDEX staff_links_of_account ON public.staff_links USING btree (account_id);

CREATE INDEX staff_roles_of_account ON public.staff_roles USING btree (account_id);

CREATE INDEX staff_sessions_by_age ON public.staff_sessions USING btree (expires_at);

CREATE INDEX staff_sessions_of_account ON public.staff_sessions USING btree (account_id, created_at);

CREATE INDEX staff_sessions_of_device ON public.staff_sessions USING btree (device_hash, account_id) WHERE (device_hash IS NOT NULL);

CREATE INDEX staff_sign_in_attempts_by_age ON public.staff_sign_in_attempts USING btree (attempted_at);

CREATE INDEX staff_sign_in_attempts_of_address ON public.staff_sign_in_attempts USING btree (kind, address, attempted_at);

CREATE INDEX staff_sign_in_attempts_of_email ON public.staff_sign_in_attempts USING btree (kind, email_key, attempted_at);

CREATE INDEX studio_secrets_unsealed ON public.studio_secrets USING btree (studio_id) WHERE (length(link_secret) = 32);

CREATE INDEX waitlist_entries_by_location ON public.waitlist_entries USING btree (studio_id, location_id, status, created_at DESC, id DESC);

CREATE INDEX waitlist_entries_by_status ON public.waitlist_entries USING btree (studio_id, status, created_at DESC, id DESC);

CREATE INDEX waitlist_entries_changed ON public.waitlist_entries USING btree (studio_id, updated_at, created_at, id);

CREATE INDEX waitlist_entries_list ON public.waitlist_entries USING btree (studio_id, created_at DESC, id DESC);

CREATE INDEX waitlist_entries_of_class ON public.waitlist_entries USING btree (studio_id, class_id, created_at DESC, id DESC);

CREATE INDEX waitlist_entries_of_member ON public.waitlist_entries USING btree (studio_id, member_id, created_at DESC, id DESC);

CREATE UNIQUE INDEX waitlist_entries_one_waiting ON public.waitlist_entries USING btree (studio_id, class_id, member_id) WHERE (status = 'waiting'::text);

CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (studio_id, endpoint_id, due_at) WHERE (status = 'pending'::text);

CREATE INDEX webhook_deliveries_list ON public.webhook_deliveries USING btree (studio_id, endpoint_id, created_at DESC, id DESC);

CREATE INDEX webhook_deliveries_of_event ON public.webhook_deliveries USING btree (studio_id, event_id);

CREATE INDEX webhook_deliveries_old ON public.webhook_deliveries USING btree (studio_id, created_at);

CREATE INDEX webhook_deliveries_waiting ON public.webhook_deliveries USING btree (due_at, studio_id) WHERE (status = 'pending'::text);

CREATE INDEX webhook_endpoints_list ON public.webhook_endpoints USING btree (studio_id, created_at DESC, id DESC);

CREATE TRIGGER add_secret AFTER INSERT ON public.studios FOR EACH ROW EXECUTE FUNCTION public.add_studio_secret();

CREATE TRIGGER begin_availability AFTER INSERT ON public.classes REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.begin_availability();

CREATE TRIGGER count_added AFTER INSERT ON public.form_uploads REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_added_uploads();

CREATE TRIGGER count_removed AFTER DELETE ON public.form_uploads REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.count_removed_uploads();

CREATE TRIGGER detach BEFORE UPDATE OF title, description, class_type_id, location_id, room_id, instructor_id, start_time, end_time, capacity, allow_waitlist, spot_selection_mode, visible, policy ON public.classes FOR EACH ROW WHEN (((old.series_id IS NOT NULL) AND (NOT new.detached) AND (new.series_revision = old.series_revision) AND ((old.title IS DISTINCT FROM new.title) OR (old.description IS DISTINCT FROM new.description) OR (old.class_type_id IS DISTINCT FROM new.class_type_id) OR (old.location_id IS DISTINCT FROM new.location_id) OR (old.room_id IS DISTINCT FROM new.room_id) OR (old.instructor_id IS DISTINCT FROM new.instructor_id) OR (old.start_time IS DISTINCT FROM new.start_time) OR (old.end_time IS DISTINCT FROM new.end_time) OR ((old.capacity)::integer IS DISTINCT FROM (new.capacity)::integer) OR (old.allow_waitlist IS DISTINCT FROM new.allow_waitlist) OR ((old.spot_selection_mode)::text IS DISTINCT FROM (new.spot_selection_mode)::text) OR (old.visible IS DISTINCT FROM new.visible) OR ((old.policy)::jsonb IS DISTINCT FROM (new.policy)::jsonb)))) EXECUTE FUNCTION public.detach_from_series();

CREATE TRIGGER grant_credits AFTER INSERT ON public.memberships REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.grant_credits();

CREATE TRIGGER keep_erased BEFORE UPDATE ON public.members FOR EACH ROW WHEN ((old.erased_at IS NOT NULL)) EXECUTE FUNCTION public.keep_erased();

CREATE TRIGGER keep_payments AFTER UPDATE ON public.purchases FOR EACH ROW WHEN (((old.status IS DISTINCT FROM new.status) OR (old.amount_total IS DISTINCT FROM new.amount_total) OR (old.refunded_amount IS DISTINCT FROM new.refunded_amount) OR (old.paid_by IS DISTINCT FROM new.paid_by))) EXECUTE FUNCTION public.keep_payments();

CREATE TRIGGER keep_payments_of_new AFTER INSERT ON public.purchases FOR EACH ROW WHEN ((new.status = ANY (ARRAY['completed'::text, 'partially_refunded'::text, 'refunded'::text]))) EXECUTE FUNCTION public.keep_payments();

CREATE TRIGGER note_first_picture BEFORE INSERT ON public.class_types FOR EACH ROW WHEN ((new.picture IS NOT NULL)) EXECUTE FUNCTION public.note_picture();

CREATE TRIGGER note_first_picture BEFORE INSERT ON public.instructors FOR EACH ROW WHEN ((new.picture IS NOT NULL)) EXECUTE FUNCTION public.note_picture();

CREATE TRIGGER note_picture BEFORE UPDATE ON public.class_types FOR EACH ROW WHEN ((old.picture IS DISTINCT FROM new.picture)) EXECUTE FUNCTION public.note_picture();

CREATE TRIGGER note_picture BEFORE UPDATE ON public.instructors FOR EACH ROW WHEN ((old.picture IS DISTINCT FROM new.picture)) EXECUTE FUNCTION public.note_picture();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.bookings FOR EACH ROW WHEN (((old.updated_at = new.updated_at) AND (old.* IS DISTINCT FROM new.*))) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.class_series FOR EACH ROW WHEN (((NOT (old.generated_until IS DISTINCT FROM new.generated_until)) AND (old.* IS DISTINCT FROM new.*))) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.class_types FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.classes FOR EACH ROW WHEN ((((old.booked_count)::integer = (new.booked_count)::integer) AND ((old.waitlist_count)::integer = (new.waitlist_count)::integer) AND (old.announced_status = new.announced_status) AND (old.* IS DISTINCT FROM new.*))) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.closures FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.form_submissions FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.forms FOR EACH ROW WHEN (((old.title IS DISTINCT FROM new.title) OR (old.slug IS DISTINCT FROM new.slug) OR (old.description IS DISTINCT FROM new.description) OR ((old.fields)::text IS DISTINCT FROM (new.fields)::text) OR ((old.settings)::text IS DISTINCT FROM (new.settings)::text) OR (old.status IS DISTINCT FROM new.status) OR (old.version IS DISTINCT FROM new.version) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.instructors FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.leads FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.locations FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.members FOR EACH ROW WHEN (((old.first_name IS DISTINCT FROM new.first_name) OR (old.last_name IS DISTINCT FROM new.last_name) OR (old.email IS DISTINCT FROM new.email) OR (old.phone IS DISTINCT FROM new.phone) OR (old.role IS DISTINCT FROM new.role) OR (old.membership_type IS DISTINCT FROM new.membership_type) OR (old.membership_start_date IS DISTINCT FROM new.membership_start_date) OR (old.membership_end_date IS DISTINCT FROM new.membership_end_date) OR (old.suspended IS DISTINCT FROM new.suspended) OR (old.staff_notes IS DISTINCT FROM new.staff_notes) OR (old.erased_at IS DISTINCT FROM new.erased_at) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.memberships FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.prices FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.products FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.purchases FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.room_spots FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.rooms FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER raise_revision BEFORE UPDATE ON public.studios FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.raise_revision();

CREATE TRIGGER touch BEFORE UPDATE ON public.bookings FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.class_series FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.class_types FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.classes FOR EACH ROW WHEN ((old.announced_status = new.announced_status)) EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.credentials FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.form_submissions FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.forms FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.instructors FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.leads FOR EACH ROW WHEN (((old.email IS DISTINCT FROM new.email) OR (old.first_name IS DISTINCT FROM new.first_name) OR (old.last_name IS DISTINCT FROM new.last_name) OR (old.phone IS DISTINCT FROM new.phone) OR (old.source IS DISTINCT FROM new.source) OR (old.status IS DISTINCT FROM new.status) OR (old.lifecycle_stage IS DISTINCT FROM new.lifecycle_stage) OR (old.metadata IS DISTINCT FROM new.metadata) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.locations FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.members FOR EACH ROW WHEN (((old.email IS DISTINCT FROM new.email) OR (old.first_name IS DISTINCT FROM new.first_name) OR (old.last_name IS DISTINCT FROM new.last_name) OR (old.phone IS DISTINCT FROM new.phone) OR (old.role IS DISTINCT FROM new.role) OR (old.membership_type IS DISTINCT FROM new.membership_type) OR (old.membership_start_date IS DISTINCT FROM new.membership_start_date) OR (old.membership_end_date IS DISTINCT FROM new.membership_end_date) OR (old.erased_at IS DISTINCT FROM new.erased_at) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.memberships FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.prices FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.products FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.purchases FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.room_spots FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.rooms FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.staff_accounts FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.staff_roles FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.studio_logos FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.studios FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.waitlist_entries FOR EACH ROW EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER touch BEFORE UPDATE ON public.webhook_endpoints FOR EACH ROW WHEN ((current_setting('studiogate.resealing'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION public.touch_updated_at();

CREATE TRIGGER track_status BEFORE INSERT OR UPDATE OF start_time, end_time ON public.classes FOR EACH ROW EXECUTE FUNCTION public.keep_announced_status();

CREATE TRIGGER unlink_unverified BEFORE INSERT OR UPDATE ON public.form_submissions FOR EACH ROW WHEN (((new.member_id IS NOT NULL) AND (NOT new.verified))) EXECUTE FUNCTION public.unlink_unverified_submission();

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.booking_cancellations
    ADD CONSTRAINT booking_cancellations_booking_fkey FOREIGN KEY (studio_id, booking_id) REFERENCES public.bookings(studio_id, id);

ALTER TABLE ONLY public.booking_cancellations
    ADD CONSTRAINT booking_cancellations_member_fkey FOREIGN KEY (studio_id, member_id) REFERENCES public.members(studio_id, id);

ALTER TABLE ONLY public.booking_cancellations
    ADD CONSTRAINT booking_cancellations_purchase_fkey FOREIGN KEY (studio_id, purchase_id) REFERENCES public.purchases(studio_id, id);

ALTER TABLE ONLY public.bookings
    ADD CONSTRAINT bookings_class_fkey FOREIGN KEY (studio_id, class_id) REFERENCES public.classes(studio_id, id);

ALTER TABLE ONLY public.bookings
    ADD CONSTRAINT bookings_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.bookings
    ADD CONSTRAINT bookings_member_fkey FOREIGN KEY (studio_id, member_id) REFERENCES public.members(studio_id, id);

ALTER TABLE ONLY public.bookings
    ADD CONSTRAINT bookings_membership_fkey FOREIGN KEY (studio_id, membership_id) REFERENCES public.memberships(studio_id, id);

ALTER TABLE ONLY public.bookings
    ADD CONSTRAINT bookings_moved_from_fkey FOREIGN KEY (studio_id, moved_from_booking_id) REFERENCES public.bookings(studio_id, id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.bookings
    ADD CONSTRAINT bookings_moved_to_fkey FOREIGN KEY (studio_id, moved_to_booking_id) REFERENCES public.bookings(studio_id, id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.bookings
    ADD CONSTRAINT bookings_spot_fkey FOREIGN KEY (studio_id, class_spot_id) REFERENCES public.room_spots(studio_id, id);

ALTER TABLE ONLY public.class_availability
    ADD CONSTRAINT class_availability_studio_id_class_id_fkey FOREIGN KEY (studio_id, class_id) REFERENCES public.classes(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.class_series
    ADD CONSTRAINT class_series_class_type_fkey FOREIGN KEY (studio_id, class_type_id) REFERENCES public.class_types(studio_id, id);

ALTER TABLE ONLY public.class_series
    ADD CONSTRAINT class_series_instructor_fkey FOREIGN KEY (studio_id, instructor_id) REFERENCES public.instructors(studio_id, id);

ALTER TABLE ONLY public.class_series
    ADD CONSTRAINT class_series_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.class_series
    ADD CONSTRAINT class_series_room_fkey FOREIGN KEY (studio_id, room_id) REFERENCES public.rooms(studio_id, id);

ALTER TABLE ONLY public.class_series
    ADD CONSTRAINT class_series_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.class_types
    ADD CONSTRAINT class_types_picture_fkey FOREIGN KEY (studio_id, picture) REFERENCES public.pictures(studio_id, name);

ALTER TABLE ONLY public.class_types
    ADD CONSTRAINT class_types_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.classes
    ADD CONSTRAINT classes_class_type_fkey FOREIGN KEY (studio_id, class_type_id) REFERENCES public.class_types(studio_id, id);

ALTER TABLE ONLY public.classes
    ADD CONSTRAINT classes_instructor_fkey FOREIGN KEY (studio_id, instructor_id) REFERENCES public.instructors(studio_id, id);

ALTER TABLE ONLY public.classes
    ADD CONSTRAINT classes_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.classes
    ADD CONSTRAINT classes_room_fkey FOREIGN KEY (studio_id, room_id) REFERENCES public.rooms(studio_id, id);

ALTER TABLE ONLY public.classes
    ADD CONSTRAINT classes_series_fkey FOREIGN KEY (studio_id, series_id) REFERENCES public.class_series(studio_id, id);

ALTER TABLE ONLY public.classes
    ADD CONSTRAINT classes_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.closures
    ADD CONSTRAINT closures_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.closures
    ADD CONSTRAINT closures_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.credential_secrets
    ADD CONSTRAINT credential_secrets_credential_fkey FOREIGN KEY (studio_id, credential_id) REFERENCES public.credentials(studio_id, id);

ALTER TABLE ONLY public.credentials
    ADD CONSTRAINT credentials_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.credit_ledger
    ADD CONSTRAINT credit_ledger_booking_fkey FOREIGN KEY (studio_id, booking_id) REFERENCES public.bookings(studio_id, id);

ALTER TABLE ONLY public.credit_ledger
    ADD CONSTRAINT credit_ledger_membership_fkey FOREIGN KEY (studio_id, membership_id) REFERENCES public.memberships(studio_id, id);

ALTER TABLE ONLY public.daily_figures
    ADD CONSTRAINT daily_figures_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.event_heads
    ADD CONSTRAINT event_heads_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.external_ids
    ADD CONSTRAINT external_ids_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.figure_cursors
    ADD CONSTRAINT figure_cursors_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.figure_days
    ADD CONSTRAINT figure_days_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.form_drafts
    ADD CONSTRAINT form_drafts_form_fkey FOREIGN KEY (studio_id, form_id) REFERENCES public.forms(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.form_submissions
    ADD CONSTRAINT form_submissions_form_fkey FOREIGN KEY (studio_id, form_id) REFERENCES public.forms(studio_id, id);

ALTER TABLE ONLY public.form_submissions
    ADD CONSTRAINT form_submissions_lead_fkey FOREIGN KEY (studio_id, lead_id) REFERENCES public.leads(studio_id, id);

ALTER TABLE ONLY public.form_submissions
    ADD CONSTRAINT form_submissions_member_fkey FOREIGN KEY (studio_id, member_id) REFERENCES public.members(studio_id, id);

ALTER TABLE ONLY public.form_submissions
    ADD CONSTRAINT form_submissions_version_fkey FOREIGN KEY (studio_id, form_id, form_version) REFERENCES public.form_versions(studio_id, form_id, version);

ALTER TABLE ONLY public.form_upload_usage
    ADD CONSTRAINT form_upload_usage_form_fkey FOREIGN KEY (studio_id, form_id) REFERENCES public.forms(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.form_uploads
    ADD CONSTRAINT form_uploads_form_fkey FOREIGN KEY (studio_id, form_id) REFERENCES public.forms(studio_id, id);

ALTER TABLE ONLY public.form_uploads
    ADD CONSTRAINT form_uploads_submission_fkey FOREIGN KEY (studio_id, submission_id) REFERENCES public.form_submissions(studio_id, id);

ALTER TABLE ONLY public.form_versions
    ADD CONSTRAINT form_versions_form_fkey FOREIGN KEY (studio_id, form_id) REFERENCES public.forms(studio_id, id);

ALTER TABLE ONLY public.forms
    ADD CONSTRAINT forms_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_credential_fkey FOREIGN KEY (studio_id, credential_id) REFERENCES public.credentials(studio_id, id);

ALTER TABLE ONLY public.instructors
    ADD CONSTRAINT instructors_picture_fkey FOREIGN KEY (studio_id, picture) REFERENCES public.pictures(studio_id, name);

ALTER TABLE ONLY public.instructors
    ADD CONSTRAINT instructors_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.leads
    ADD CONSTRAINT leads_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.locations
    ADD CONSTRAINT locations_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.mail_cursors
    ADD CONSTRAINT mail_cursors_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_account_fkey FOREIGN KEY (studio_id, account_id) REFERENCES public.staff_roles(studio_id, account_id);

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_booking_fkey FOREIGN KEY (studio_id, booking_id) REFERENCES public.bookings(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_event_fkey FOREIGN KEY (studio_id, event_id) REFERENCES public.events(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_form_fkey FOREIGN KEY (studio_id, form_id) REFERENCES public.forms(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_member_fkey FOREIGN KEY (studio_id, member_id) REFERENCES public.members(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_submission_fkey FOREIGN KEY (studio_id, submission_id) REFERENCES public.form_submissions(studio_id, id);

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_member_fkey FOREIGN KEY (studio_id, member_id) REFERENCES public.members(studio_id, id);

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_price_fkey FOREIGN KEY (studio_id, price_id) REFERENCES public.prices(studio_id, id);

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_product_fkey FOREIGN KEY (studio_id, product_id) REFERENCES public.products(studio_id, id);

ALTER TABLE ONLY public.merged_people
    ADD CONSTRAINT merged_people_studio_id_member_id_fkey FOREIGN KEY (studio_id, member_id) REFERENCES public.members(studio_id, id);

ALTER TABLE ONLY public.pictures
    ADD CONSTRAINT pictures_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.price_locations
    ADD CONSTRAINT price_locations_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.price_locations
    ADD CONSTRAINT price_locations_price_fkey FOREIGN KEY (studio_id, price_id) REFERENCES public.prices(studio_id, id);

ALTER TABLE ONLY public.prices
    ADD CONSTRAINT prices_product_fkey FOREIGN KEY (studio_id, product_id) REFERENCES public.products(studio_id, id);

ALTER TABLE ONLY public.product_class_types
    ADD CONSTRAINT product_class_types_class_type_fkey FOREIGN KEY (studio_id, class_type_id) REFERENCES public.class_types(studio_id, id);

ALTER TABLE ONLY public.product_class_types
    ADD CONSTRAINT product_class_types_product_fkey FOREIGN KEY (studio_id, product_id) REFERENCES public.products(studio_id, id);

ALTER TABLE ONLY public.product_locations
    ADD CONSTRAINT product_locations_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.product_locations
    ADD CONSTRAINT product_locations_product_fkey FOREIGN KEY (studio_id, product_id) REFERENCES public.products(studio_id, id);

ALTER TABLE ONLY public.products
    ADD CONSTRAINT products_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.purchase_payments
    ADD CONSTRAINT purchase_payments_purchase_fkey FOREIGN KEY (studio_id, purchase_id) REFERENCES public.purchases(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.purchase_payments
    ADD CONSTRAINT purchase_payments_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.purchases
    ADD CONSTRAINT purchases_booking_fkey FOREIGN KEY (studio_id, booking_id) REFERENCES public.bookings(studio_id, id);

ALTER TABLE ONLY public.purchases
    ADD CONSTRAINT purchases_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.purchases
    ADD CONSTRAINT purchases_member_fkey FOREIGN KEY (studio_id, member_id) REFERENCES public.members(studio_id, id);

ALTER TABLE ONLY public.purchases
    ADD CONSTRAINT purchases_product_fkey FOREIGN KEY (studio_id, product_id) REFERENCES public.products(studio_id, id);

ALTER TABLE ONLY public.removed_files
    ADD CONSTRAINT removed_files_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.renewals
    ADD CONSTRAINT renewals_membership_fkey FOREIGN KEY (studio_id, membership_id) REFERENCES public.memberships(studio_id, id);

ALTER TABLE ONLY public.renewals
    ADD CONSTRAINT renewals_purchase_fkey FOREIGN KEY (studio_id, purchase_id) REFERENCES public.purchases(studio_id, id);

ALTER TABLE ONLY public.request_log
    ADD CONSTRAINT request_log_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.room_spots
    ADD CONSTRAINT room_spots_room_fkey FOREIGN KEY (studio_id, room_id) REFERENCES public.rooms(studio_id, id);

ALTER TABLE ONLY public.rooms
    ADD CONSTRAINT rooms_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.sales
    ADD CONSTRAINT sales_membership_fkey FOREIGN KEY (studio_id, membership_id) REFERENCES public.memberships(studio_id, id);

ALTER TABLE ONLY public.sales
    ADD CONSTRAINT sales_price_fkey FOREIGN KEY (studio_id, price_id) REFERENCES public.prices(studio_id, id);

ALTER TABLE ONLY public.sales
    ADD CONSTRAINT sales_purchase_fkey FOREIGN KEY (studio_id, purchase_id) REFERENCES public.purchases(studio_id, id);

ALTER TABLE ONLY public.staff_form_tokens
    ADD CONSTRAINT staff_form_tokens_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.staff_accounts(id);

ALTER TABLE ONLY public.staff_form_tokens
    ADD CONSTRAINT staff_form_tokens_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.staff_links
    ADD CONSTRAINT staff_links_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.staff_accounts(id);

ALTER TABLE ONLY public.staff_roles
    ADD CONSTRAINT staff_roles_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.staff_accounts(id);

ALTER TABLE ONLY public.staff_roles
    ADD CONSTRAINT staff_roles_instructor_fkey FOREIGN KEY (studio_id, instructor_id) REFERENCES public.instructors(studio_id, id);

ALTER TABLE ONLY public.staff_roles
    ADD CONSTRAINT staff_roles_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.staff_sessions
    ADD CONSTRAINT staff_sessions_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.staff_accounts(id);

ALTER TABLE ONLY public.staff_sessions
    ADD CONSTRAINT staff_sessions_chosen_studio_id_fkey FOREIGN KEY (chosen_studio_id) REFERENCES public.studios(studio_id);

ALTER TABLE ONLY public.studio_logos
    ADD CONSTRAINT studio_logos_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.studio_secrets
    ADD CONSTRAINT studio_secrets_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.studio_upload_usage
    ADD CONSTRAINT studio_upload_usage_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.waitlist_entries
    ADD CONSTRAINT waitlist_entries_booking_fkey FOREIGN KEY (studio_id, booking_id) REFERENCES public.bookings(studio_id, id);

ALTER TABLE ONLY public.waitlist_entries
    ADD CONSTRAINT waitlist_entries_class_fkey FOREIGN KEY (studio_id, class_id) REFERENCES public.classes(studio_id, id);

ALTER TABLE ONLY public.waitlist_entries
    ADD CONSTRAINT waitlist_entries_location_fkey FOREIGN KEY (studio_id, location_id) REFERENCES public.locations(studio_id, id);

ALTER TABLE ONLY public.waitlist_entries
    ADD CONSTRAINT waitlist_entries_member_fkey FOREIGN KEY (studio_id, member_id) REFERENCES public.members(studio_id, id);

ALTER TABLE ONLY public.webhook_attempts
    ADD CONSTRAINT webhook_attempts_delivery_fkey FOREIGN KEY (studio_id, delivery_id) REFERENCES public.webhook_deliveries(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_endpoint_fkey FOREIGN KEY (studio_id, endpoint_id) REFERENCES public.webhook_endpoints(studio_id, id);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_event_fkey FOREIGN KEY (studio_id, event_id) REFERENCES public.events(studio_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_credential_fkey FOREIGN KEY (studio_id, credential_id) REFERENCES public.credentials(studio_id, id);

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_studio_id_fkey FOREIGN KEY (studio_id) REFERENCES public.studios(studio_id);
