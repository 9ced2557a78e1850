#!/usr/bin/env bash
# On a kernel of `machine`: guests/nfs with a real NFS server. The server is the kernel of the first network; the host of
# Drivebay is in a network of its own with two ways to it, one of which is cut.
# Usage: nfs.sh PROGRAM COMPONENT
. "$(dirname "$(realpath "$0")")/lib.sh"

modprobe -a loop nfsd nfs nfsv3 nfsv4 veth
mkdir -p /srv /share /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs /var/lib/nfs/sm /run/rpcbind
# A file system for each export; "/" cannot be one here, because an overlay has no file handles.
for name in root pool other; do
  truncate -s 64M "/root/$name.img"
  mkfs.ext4 -q "/root/$name.img"
done
mount -o loop /root/root.img /srv
for name in pool other; do
  mkdir "/srv/$name"
  mount -o loop "/root/$name.img" "/srv/$name"
done

# The names of protocols and users that the server's programs want, where the machine has none.
grep -q sunrpc /etc/services 2>/dev/null || printf 'tcp 6 TCP\nudp 17 UDP\n' >>/etc/protocols
for user in _rpc:110 statd:111; do
  grep -q "^${user%:*}:" /etc/passwd || echo "${user%:*}:x:${user#*:}:65534::/:/usr/sbin/nologin" >>/etc/passwd
done
chown -R statd /var/lib/nfs/sm

ip netns add node
for way in 1 2; do
  ip link add "way$way" type veth peer name "eth$way" netns node
  ip addr add "10.$way.0.1/24" dev "way$way"
  ip link set "way$way" up
  ip -n node addr add "10.$way.0.11/24" dev "eth$way"
  ip -n node link set "eth$way" up
done
ip -n node link set lo up
# The network alone: mounts are to be seen from here.
on_node=(nsenter --net=/run/netns/node)

cat >/etc/exports <<EXPORTS
/srv 10.1.0.0/24(ro,fsid=0,no_subtree_check) 10.2.0.0/24(ro,fsid=0,no_subtree_check)
/srv/pool 10.1.0.0/24(rw,sync,no_subtree_check,no_root_squash) 10.2.0.0/24(rw,sync,no_subtree_check,no_root_squash)
/srv/other 10.9.0.9(rw,sync,no_subtree_check)
EXPORTS
mount -t nfsd nfsd /proc/fs/nfsd
mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
rpcbind -w
exportfs -ra
rpc.nfsd -G 10 -L 10 4
rpc.mountd
"${on_node[@]}" mount.nfs 10.2.0.1:/srv/pool /share -o vers=3,nolock,soft
step "a server, and the export at /share for the controller"

configure nfs 'directories = [{ host = "/share", guest = "/share", write = true }]
attach = [
  { protocol = "nfs", servers = ["10.1.0.0/24"], export = "/*" },
  { protocol = "nfs", servers = ["10.1.0.0/24"], export = "/srv/*" },
  { protocol = "nfs", servers = ["10.2.0.1"], export = "/srv/pool" },
]' 'settings = { server = "10.1.0.1", export = "/pool" }'
sed 's/^calls = .*/calls = 128/' "$config" >/run/many.toml
"$program" check /run/many.toml >"$answer" 2>&1 || true
grep -q 'lower `calls`' "$answer" || fail "too few addresses for so many calls, and the key is not named"
serve
step "the host serves; with too many calls it names the key"

no_helper() { ! pgrep -f node-helper; }
capability='{ "mount": { "mount_flags": ["nfsvers=4.2", "hard"] }, "access_mode": { "mode": "MULTI_NODE_MULTI_WRITER" } }'
old='{ "mount": { "mount_flags": ["nfsvers=3", "nolock", "soft", "timeo=50"] }, "access_mode": { "mode": "MULTI_NODE_MULTI_WRITER" } }'

create() {
  does Controller/CreateVolume "{ \"name\": \"$1\", \"volume_capabilities\": [$capability], \"parameters\": $2 }"
  grep -o '"volume_\?[iI]d": *"[0-9a-f]*"' "$answer" | grep -o '[0-9a-f]\{32\}'
}

# Arguments: volume, pod, context's server, export and subdirectory, capability, more of the request.
publish_request() {
  local inner=
  [[ -z $5 ]] || inner=", \"subdirectory\": \"$5\""
  mkdir -p "/pods/$2"
  echo "{ \"volume_id\": \"$1\", \"target_path\": \"/pods/$2/mount\", \"volume_capability\": ${6:-$capability},
    \"volume_context\": { \"server\": \"$3\", \"export\": \"$4\"$inner } ${7:-} }"
}
unpublish() { does Node/NodeUnpublishVolume "{ \"volume_id\": \"$1\", \"target_path\": \"/pods/$2/mount\" }" "${3:-60s}"; }

one=$(create one '{}')
two=$(create two '{ "on-delete": "archive" }')
[[ -d /srv/pool/$one && -d /srv/pool/$two && $(create one '{}') = "$one" ]] || fail "volumes are directories of the export"
step "two volumes"

request=$(publish_request "$one" a 10.1.0.1 /pool "$one")
does Node/NodePublishVolume "$request"
step "published"
does Node/NodePublishVolume "$request"
grep ' /pods/a/mount ' /proc/self/mounts | grep -q "10.1.0.1:/pool/$one .*nosuid,nodev.*vers=4.2" || fail "not mounted as asked"
dd if=/dev/urandom of=/pods/a/mount/file bs=1M count=4 conv=fsync status=none
does Node/NodePublishVolume "$(publish_request "$one" b 10.1.0.1 /pool "$one" "$capability" ', "readonly": true')"
cmp /pods/a/mount/file /pods/b/mount/file && cmp /pods/a/mount/file "/srv/pool/$one/file" || fail "other bytes are read"
! touch /pods/b/mount/x 2>/dev/null || fail "a read-only mount was written to"
does Node/NodePublishVolume "$(publish_request "$two" c 10.2.0.1 /srv/pool '' "$old")"
echo two >"/pods/c/mount/$two/file"
step "repeated, written, read at a second mount and on the server; version 3 by the other way"

does Node/NodeGetVolumeStats "{ \"volume_id\": \"$one\", \"volume_path\": \"/pods/a/mount\" }"
grep -q BYTES "$answer" && grep -q INODES "$answer" || fail "no numbers"
does Controller/GetCapacity '{}'
does Controller/ControllerExpandVolume "{ \"volume_id\": \"$one\", \"capacity_range\": { \"required_bytes\": 2147483648 } }"
grep -q 2147483648 "$answer" || fail "not grown"
step "numbers, capacity, growth"

# The trap: by version 4 the same mount succeeds for anybody, and shows the directory below the export.
mkdir /run/trap
"${on_node[@]}" mount.nfs 10.1.0.1:/other /run/trap -o vers=4.2 || fail "the trap is not set"
umount /run/trap
refuses "no export for this node" Node/NodePublishVolume "$(publish_request x d 10.1.0.1 /other '')"
refuses "refuses this node" Node/NodePublishVolume "$(publish_request x d 10.1.0.1 /srv/other '' "$old")"
refuses "by NFS 3 a link" Node/NodePublishVolume "$(publish_request x d 10.2.0.1 /srv/pool "$two" "$old")"
refuses "no such directory" Node/NodePublishVolume "$(publish_request x d 10.1.0.1 /pool nowhere)"
refuses "no grant opens" Node/NodePublishVolume "$(publish_request x d 10.3.0.1 /pool '')"
refuses "no grant opens" Node/NodePublishVolume "$(publish_request x d 10.2.0.1 /other '')"
refuses "not among those allowed" Node/NodePublishVolume "$(publish_request x d 10.1.0.1 /pool '' '{ "mount": { "mount_flags": ["port=22"] }, "access_mode": { "mode": "MULTI_NODE_MULTI_WRITER" } }')"
! mounted /pods/d/mount && [[ ! -e /pods/d/mount ]] || fail "something is left of a refused call"
step "a foreign export, no directory, no grant, an option: refused, nothing left"

# What a workload has mapped and changed is on the server when the volume is unpublished, while another mount of the
# export keeps the kernel's cache of it.
does Node/NodePublishVolume "$(publish_request "$one" m 10.1.0.1 /pool "$one")"
python3 - /pods/m/mount/mapped <<'PYTHON'
import mmap, sys
with open(sys.argv[1], "wb") as file:
    file.truncate(1 << 20)
with open(sys.argv[1], "r+b") as file:
    with mmap.mmap(file.fileno(), 0) as pages:
        pages[:] = b"m" * len(pages)
PYTHON
unpublish "$one" m
[[ $(tr -d m <"/srv/pool/$one/mapped" | wc -c) = 0 && $(stat -c %s "/srv/pool/$one/mapped") = 1048576 ]] || fail "mapped pages are not on the server"
step "mapped pages: on the server when unpublished"

# What is published outlasts host and helper, and the next host knows it.
killed
cmp /pods/a/mount/file "/srv/pool/$one/file" || fail "a mount is gone with the host"
serve
does Node/NodePublishVolume "$request"
unpublish "$one" b
! mounted /pods/b/mount && [[ ! -e /pods/b/mount ]] && mounted /pods/a/mount || fail "not the one that was meant"
step "killed and started again: published as before"

# The server hangs, by one way.
ip link set way1 down
"$program" call --socket "$socket" --timeout 100s csi.v1.Node/NodePublishVolume \
  "$(publish_request "$one" e 10.1.0.1 /pool "$one")" >/run/hanging 2>&1 &
hanging=$!
until_true 60 pgrep -x mount.nfs
does Node/NodeGetVolumeStats "{ \"volume_id\": \"$one\", \"volume_path\": \"/pods/a/mount\" }" 10s
grep -q 'did not answer' "$answer" || fail "a hung server is not told of"
step "a hung server: told by NodeGetVolumeStats"
does Node/NodePublishVolume "$(publish_request "$two" f 10.2.0.1 /srv/pool '' "$old")" 20s
[[ $(cat "/pods/f/mount/$two/file") = two ]] || fail "other bytes are read"
unpublish "$two" f 20s
kill -0 "$hanging" || fail "the call on the hung server has ended too early: $(cat /run/hanging)"
step "a hung server: another volume is published and taken back meanwhile"
since_term=$SECONDS
kill -TERM "$host"
wait "$host" || true
((SECONDS - since_term < 15)) || fail "SIGTERM took $((SECONDS - since_term)) s"
wait "$hanging" || true
step "a hung server: SIGTERM ends the host, with a call under way"

# Killed while the server hangs: nothing is left that the ledger does not name.
until_true 60 no_helper
serve
"$program" call --socket "$socket" --timeout 100s csi.v1.Node/NodePublishVolume \
  "$(publish_request "$one" g 10.1.0.1 /pool "$one")" >/run/hanging 2>&1 &
until_true 60 pgrep -x mount.nfs
killed
wait
ip link set way1 up
serve
! mounted /pods/e/mount && ! mounted /pods/g/mount && [[ ! -e /pods/g/mount ]] || fail "something is left of a killed call"
cmp /pods/a/mount/file "/srv/pool/$one/file" || fail "other bytes are read after the server is back"
step "killed while mounting from a hung server: nothing is left; the server is back, and so are the bytes"

# A controller whose export is not mounted does not say that a volume is gone.
kill -TERM "$host"
wait "$host" || true
umount /share
serve
for asked in Delete ControllerGet; do
  refuses "mount the export" "Controller/${asked}Volume" "{ \"volume_id\": \"$one\" }"
done
refuses "mount the export" Controller/CreateVolume "{ \"name\": \"three\", \"volume_capabilities\": [$capability] }"
kill -TERM "$host"
wait "$host" || true
"${on_node[@]}" mount.nfs 10.2.0.1:/srv/pool /share -o vers=3,nolock,soft
[[ -d /share/$one ]] || fail "a volume was deleted"
serve
step "an export that is not mounted: nothing is deleted, and nothing said to be"

unpublish "$one" a
unpublish "$two" c
[[ $(grep -cE ' nfs4? ' /proc/self/mounts) = 1 ]] || fail "a mount is left"
[[ -z $(find /run/drivebay-node-* -mindepth 1) ]] || fail "a place is left"
for volume in "$one" "$two"; do
  does Controller/DeleteVolume "{ \"volume_id\": \"$volume\" }"
  does Controller/DeleteVolume "{ \"volume_id\": \"$volume\" }"
done
[[ ! -e /srv/pool/$one && $(cat "/srv/pool/archived-$two/file") = two ]] || fail "not deleted as the class says"
does Controller/ListVolumes '{}'
! grep -q volumeId "$answer" || fail "a deleted volume is listed"
step "taken back, deleted, archived"

sanity
conform <<'WITH'
deadline = "20s"
parallel = 1
[capabilities]
access = "mount"
multi_node = "mount"
WITH
finish
