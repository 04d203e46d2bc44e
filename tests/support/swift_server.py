"""OpenStack Swift with its S3 interface in one process: proxy, account, container and object server, the objects in
memory. Debian's Python runs this file, because Swift's packages are there: ``/usr/bin/python3 swift_server.py FOLDER
PORT`` prints a line once the bucket ``files`` exists."""

# mypy: ignore-errors
import sys
from pathlib import Path

import eventlet

eventlet.monkey_patch()

from eventlet import wsgi  # noqa: E402
from swift.common import utils  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402

folder, port = Path(sys.argv[1]), int(sys.argv[2])
utils.SWIFT_CONF_FILE = str(folder / "swift.conf")
(folder / "swift.conf").write_text(
    "[swift-hash]\nswift_hash_path_suffix = tests\n[storage-policy:0]\nname = one\ndefault = yes\n"
)
from swift.common.swob import Request  # noqa: E402
from swift.common.wsgi import loadapp  # noqa: E402

SERVERS = {"account": "account", "container": "container", "object": "mem_object"}
PROXY = """
[DEFAULT]
swift_dir = {folder}
bind_port = {port}
[pipeline:main]
pipeline = catch_errors cache listing_formats s3api tempauth copy slo proxy-server
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
s3_acl = no
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_studio_gate = secret .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
"""
SERVER = """
[DEFAULT]
swift_dir = {folder}
devices = {folder}/disks
mount_check = false
bind_port = {port}
[pipeline:main]
pipeline = server
[app:server]
use = egg:swift#{kind}
"""

(folder / "disks" / "one").mkdir(parents=True)
sockets = {name: eventlet.listen(("127.0.0.1", 0)) for name in SERVERS}
for name, listening in sockets.items():
    own_port = listening.getsockname()[1]
    builder = RingBuilder(1, 1, 0)
    place = {"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": own_port, "device": "one", "weight": 1.0}
    builder.add_dev(place)
    builder.rebalance()
    builder.get_ring().save(str(folder / f"{name}.ring.gz"))
    (folder / f"{name}.conf").write_text(SERVER.format(folder=folder, port=own_port, kind=SERVERS[name]))
(folder / "proxy.conf").write_text(PROXY.format(folder=folder, port=port))
with (folder / "log").open("w") as log:
    for name, listening in sockets.items():
        eventlet.spawn(wsgi.server, listening, loadapp(str(folder / f"{name}.conf")), log)
    proxy = loadapp(str(folder / "proxy.conf"))
    as_operator = {"REQUEST_METHOD": "PUT", "swift.authorize_override": True}
    created = Request.blank("/v1/AUTH_studio/files", environ=as_operator).get_response(proxy)
    listening = eventlet.listen(("127.0.0.1", port))
    print(created.status, flush=True)
    wsgi.server(listening, proxy, log)
