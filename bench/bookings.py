"""How fast bookings are: POST /bookings on two API processes, beside the same writes by pgbench on the same PostgreSQL.

Run by hand on a quiet machine: `python -m bench.bookings`. It starts everything it needs in a temporary folder and
stops it again. pgbench's transaction has the statements of a booking, without Python, HTTP and rules: the floor.
"""

import argparse
import asyncio
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from bench import load
from studiogate.storage import database, migrate
from studiogate.storage.embedded import EmbeddedPostgres, running_postgres
from tests.races.arena import Arena, open_arena
from tests.races.client import PREFIX
from tests.serving import Service

CLIENTS = 16
WORKERS = 2
MANY, HOT = 500, 1

# The statements of one booking. Each client counts on by itself, so that no member comes into a class twice.
PGBENCH = """
\\set n :n + 1
\\set index :n * :clients + :client_id
\\set class 1 + mod(:index, :classes)
\\set member 1 + mod(:index / :classes, :members)
begin;
insert into idempotency_keys (studio_id, credential_id, key, fingerprint)
    values (:studio::uuid, :credential, gen_random_uuid()::text, sha256('fingerprint')) returning key \\gset
select c.id as class_id, c.booked_count, c.start_time, s.policy from bench_classes n
    join classes c on c.studio_id = :studio::uuid and c.id = n.id join studios s on s.studio_id = c.studio_id
    where n.number = :class::integer for no key update of c \\gset
select m.id as member_id, p.id as membership_id from bench_members n
    join members m on m.studio_id = :studio::uuid and m.id = n.id
    join memberships p on p.studio_id = m.studio_id and p.member_id = m.id
    where n.number = :member::integer for no key update of m \\gset
insert into bookings (studio_id, id, class_id, member_id, start_time, end_time, status, booking_source, membership_id,
                      credits_taken, policy)
    select c.studio_id, gen_random_uuid(), c.id, :member_id::uuid, c.start_time, c.end_time, 'confirmed', 'bench',
           :membership_id::uuid, 1, '{}'
    from classes c where c.studio_id = :studio::uuid and c.id = :class_id::uuid returning id as booking_id \\gset
update classes set booked_count = booked_count + 1 where studio_id = :studio::uuid and id = :class_id::uuid;
update memberships set credits_remaining = credits_remaining - 1, state_version = state_version + 1
    where studio_id = :studio::uuid and id = :membership_id::uuid;
insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
    values (:studio::uuid, gen_random_uuid(), :membership_id::uuid, :booking_id::uuid, -1, 'booked');
insert into events (studio_id, id, type, subject, scopes, place, object, previous_attributes)
    select b.studio_id, gen_random_uuid(), 'booking.created', b.id, array['bookings' || chr(58) || 'read'], b.studio_id,
           (select row_to_json(w) from (select b.id, 'booking' as object, b.class_id, b.member_id, b.status,
            b.booking_source, b.class_spot_id, null as waitlist_position, b.created_at, b.updated_at) w), '{}'
    from bookings b where b.studio_id = :studio::uuid and b.id = :booking_id::uuid;
update idempotency_keys set status = 201, body = convert_to(repeat('x', 400), 'utf8'), completed_at = clock_timestamp()
    where studio_id = :studio::uuid and credential_id = :credential and key = :key;
commit;
"""


@dataclass
class Result:
    throughput: float
    median: float
    slow: float


async def _number(arena: Arena, table: str, ids: list[UUID]) -> None:
    """What pgbench chooses from: it knows numbers only."""
    await arena.connection.execute(f"drop table if exists {table}")
    await arena.connection.execute(f"create table {table} (number integer primary key, id uuid not null)")
    await arena.connection.executemany(f"insert into {table} values ($1, $2)", list(enumerate(ids, start=1)))


async def measure_service(arena: Arena, classes: list[UUID], members: list[UUID], requests: int) -> Result:
    """Every request books another member into one of the classes, in turn."""
    pairs = [(classes[n % len(classes)], members[n // len(classes)]) for n in range(requests)]
    bodies = [{"class_id": str(class_id), "member_id": str(member_id)} for class_id, member_id in pairs]
    raw = [load.http_write("POST", f"{PREFIX}/bookings", arena.service_key, uuid4().hex, body) for body in bodies]
    outcome = await load.run(arena.port, raw, CLIENTS)
    if outcome.statuses != {201: requests}:
        raise SystemExit(f"not every request was confirmed: {outcome.statuses}")
    return Result(outcome.throughput, outcome.percentile(0.5), outcome.percentile(0.99))


def measure_pgbench(postgres: EmbeddedPostgres, arena: Arena, classes: int, members: int, requests: int) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        script, log = Path(folder) / "booking.sql", Path(folder) / "log"
        script.write_text(PGBENCH)
        variables = {
            "n": -1,
            "clients": CLIENTS,
            "studio": arena.studio_id,
            "credential": arena.service_key.split("_")[2],
            "classes": classes,
            "members": members,
        }
        defined = [part for name, value in variables.items() for part in ("-D", f"{name}={value}")]
        options = ["-n", "-M", "prepared", "-c", CLIENTS, "-j", WORKERS, "-t", requests // CLIENTS, "-f", script]
        command = [postgres.bin("pgbench"), *options, "-l", "--log-prefix", log, *defined, postgres.dsn()]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        lines = [line for each in Path(folder).glob("log.*") for line in each.read_text().splitlines()]
    latencies = [int(line.split()[2]) / 1e6 for line in lines]
    outcome = load.Outcome(latencies=latencies)
    # Its own figure leaves out the time to connect, as ours does.
    throughput = float(done.stdout.rpartition("tps = ")[2].split()[0])
    return Result(throughput, outcome.percentile(0.5), outcome.percentile(0.99))


def show(title: str, ours: Result, floor: Result) -> None:
    print(f"\n{title:20}{'bookings/s':>12}{'p50 ms':>10}{'p99 ms':>10}")
    for name, each in (("studiogate", ours), ("pgbench", floor)):
        print(f"  {name:18}{each.throughput:12.0f}{each.median * 1000:10.1f}{each.slow * 1000:10.1f}")
    ratios = (ours.throughput / floor.throughput, ours.median / floor.median, ours.slow / floor.slow)
    print(f"  {'ratio':18}{ratios[0]:12.2f}{ratios[1]:10.2f}{ratios[2]:10.2f}")


async def compare(postgres: EmbeddedPostgres, port: int, requests: int) -> None:
    connection = await database.connect(postgres.dsn())
    arena = await open_arena(port, connection)
    members = await arena.add_members(requests, paid=10 * requests)
    await _number(arena, "bench_members", members)
    for title, classes in (("many classes", MANY), ("one hot class", HOT)):
        await measure_service(arena, await arena.add_classes(classes, requests), members, requests // 10)
        ours = await measure_service(arena, await arena.add_classes(classes, requests), members, requests)
        await _number(arena, "bench_classes", await arena.add_classes(classes, requests))
        floor = await asyncio.to_thread(measure_pgbench, postgres, arena, classes, len(members), requests)
        show(title, ours, floor)
    await connection.close()


async def _migrate(dsn: str) -> None:
    connection = await database.connect(dsn)
    await migrate.migrate(connection)
    await connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=8_000, help="bookings a measurement")
    requests = parser.parse_args().requests
    with tempfile.TemporaryDirectory(prefix="studiogate-bench-") as folder, running_postgres(Path(folder)) as postgres:
        asyncio.run(_migrate(postgres.dsn()))
        with Service(postgres.dsn(), workers=WORKERS) as service:
            asyncio.run(compare(postgres, service.port, requests))


if __name__ == "__main__":
    main()
