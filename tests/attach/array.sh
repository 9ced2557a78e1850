#!/usr/bin/env bash
# On a kernel of `machine`: guests/array whole, with the array of tests/array, which presents its volumes as disks of an
# iSCSI target with two portals. A workload's bytes go through clone, snapshot and growth.
# Usage: array.sh PROGRAM COMPONENT
. "$(dirname "$(realpath "$0")")/lib.sh"
. "$here/initiator.sh"
. "$here/lio.sh"

initiator_start
lio_start
iscsid
multipathd
mkdir /root/array
# Arguments: the target's portals.
start_array() {
  local portals=("${@/#/--portal=}")
  "${program%/*}/drivebay-array" --data /root/array --user demo:demo-password --host worker-1=192.0.2.11 --host worker-2=192.0.2.12 \
    --iqn "$target" "${portals[@]}" --chap "alice:$secret" --initiator "worker-1=$initiator" >/run/array.log 2>&1 &
  array=$!
  until_true 20 grep -q '^listening on' /run/array.log
}
start_array 10.0.0.1:3260 10.0.0.2:3260
configure array "http = [{ origin = \"https://127.0.0.1:8443\", login = [\"/v1/session\"], ca = \"/root/array/ca.pem\", certificate = \"/root/array/client.pem\", key = \"/root/array/client-key.pem\" }]
$targets" "addons = \"unix://$addons\"
settings = { url = \"https://127.0.0.1:8443\" }"
serve
step "an array with a target of two portals; the host serves"

passphrase=correct-horse-battery-1
login='"secrets": { "user": "demo", "password": "demo-password" }'
capability='{ "mount": { "fs_type": "ext4" }, "access_mode": { "mode": "SINGLE_NODE_WRITER" } }'
field() { { grep -o "\"$1\": *\"[^\"]*\"" "$answer" || fail "the answer has no $1"; } | head -1 | cut -d'"' -f4; }
# Arguments: name, more of the request.
create() {
  does Controller/CreateVolume "{ \"name\": \"$1\", $login, \"capacity_range\": { \"required_bytes\": 67108864 },
    \"volume_capabilities\": [$capability] ${2:-} }"
  field volumeId
}
# Attaches, stages and publishes at a name. Arguments: volume, name, whether it is encrypted.
use() {
  local context own="\"volume_context\": { \"encrypted\": \"${3:-false}\" }"
  does Controller/ControllerPublishVolume "{ \"volume_id\": \"$1\", \"node_id\": \"worker-1\", $login, \"volume_capability\": $capability }"
  context=$(sed -n '/"publishContext"/,/}/p' "$answer" | tr -d '\n' | sed 's/.*"publishContext": *//; s/}.*/}/')
  mkdir -p "/pods/$2/staged"
  does Node/NodeStageVolume "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$2/staged\", \"volume_capability\": $capability,
    \"secrets\": { \"chap-user\": \"alice\", \"chap-secret\": \"$secret\", \"passphrase\": \"$passphrase\" },
    \"publish_context\": $context, $own }"
  does Node/NodePublishVolume "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$2/staged\",
    \"target_path\": \"/pods/$2/mount\", \"volume_capability\": $capability, \"publish_context\": $context, $own }"
}
unuse() {
  does Node/NodeUnpublishVolume "{ \"volume_id\": \"$1\", \"target_path\": \"/pods/$2/mount\" }"
  does Node/NodeUnstageVolume "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$2/staged\" }"
  does Controller/ControllerUnpublishVolume "{ \"volume_id\": \"$1\", \"node_id\": \"worker-1\", $login }"
}
sum() { sha256sum <"/pods/$1/mount/file"; }
# A copy is there when the array says so. Arguments: those of `create`.
created() {
  until call Controller/CreateVolume "{ \"name\": \"$1\", $login, \"capacity_range\": { \"required_bytes\": 67108864 },
    \"volume_capabilities\": [$capability] ${2:-} }"; do
    grep -q UNAVAILABLE "$answer" || grep -qi unavailable "$answer" || fail "a copy was refused"
    ((SECONDS < 150)) || fail "a copy is never there"
  done
  field volumeId
}

one=$(create one)
use "$one" one
dd if=/dev/urandom of=/pods/one/mount/file bs=1M count=8 conv=fsync status=none
sync -f /pods/one/mount
first=$(sum one)
step "a new volume: attached, staged over two paths, written"

does Controller/CreateSnapshot "{ \"source_volume_id\": \"$one\", \"name\": \"cut\", $login }"
cut=$(field snapshotId)
dd if=/dev/urandom of=/pods/one/mount/file bs=1M count=8 conv=fsync status=none
sync -f /pods/one/mount
second=$(sum one)
restored=$(created restored ", \"volume_content_source\": { \"snapshot\": { \"snapshot_id\": \"$cut\" } }")
clone=$(created clone ", \"volume_content_source\": { \"volume\": { \"volume_id\": \"$one\" } }")
use "$restored" restored
use "$clone" clone
[[ $(sum restored) = "$first" && $(sum clone) = "$second" && $(sum one) = "$second" && $first != "$second" ]] || fail "other bytes are read"
echo clone >/pods/clone/mount/own
[[ ! -e /pods/one/mount/own ]] || fail "a clone writes to its original"
step "a snapshot restored, a clone: their bytes at their moments, each on a disk of its own"

does Controller/ControllerExpandVolume "{ \"volume_id\": \"$one\", $login, \"capacity_range\": { \"required_bytes\": 134217728 } }"
does Node/NodeExpandVolume "{ \"volume_id\": \"$one\", \"volume_path\": \"/pods/one/mount\", \"capacity_range\": { \"required_bytes\": 134217728 } }"
(($(stat -f -c %b /pods/one/mount) * $(stat -f -c %S /pods/one/mount) > 100000000)) || fail "the file system has not grown"
[[ $(sum one) = "$second" ]] || fail "other bytes are read"
step "grown while a workload uses it"

# Over both paths: the mapping stands on the multipath device, and is closed before it.
encrypted=', "parameters": { "encrypted": "true" }'
sealed=$(create sealed "$encrypted")
grep -q '"encrypted": *"true"' "$answer" || fail "the volume's context does not say that it is encrypted"
refuses 'and so is every copy' Controller/CreateVolume "{ \"name\": \"open\", $login, \"volume_capabilities\": [$capability],
  \"volume_content_source\": { \"volume\": { \"volume_id\": \"$sealed\" } } }"
use "$sealed" sealed true
grep -qs CRYPT-LUKS2 /sys/block/dm-*/dm/uuid || fail "it is not encrypted"
(yes plain-text-of-a-workload || true) | head -c 4M >/pods/sealed/mount/file
sync -f /pods/sealed/mount
! grep -rqa plain-text-of-a-workload /root/array || fail "the array has the plain text"
unuse "$sealed" sealed
! grep -qs CRYPT- /sys/block/dm-*/dm/uuid || fail "a mapping is left"
does Controller/DeleteVolume "{ \"volume_id\": \"$sealed\", $login }"
step "an encrypted volume over both paths: no plain text on the array"

for pair in "$clone clone" "$restored restored" "$one one"; do unuse $pair; done
nothing_left "unstaged"
for volume in "$clone" "$restored"; do does Controller/DeleteVolume "{ \"volume_id\": \"$volume\", $login }"; done
use "$one" again
[[ $(sum again) = "$second" ]] || fail "other bytes are read"
unuse "$one" again
nothing_left "unstaged"
step "taken back; attached once more: the same bytes"

# The judges make many volumes. One portal is enough for them: a multipath device takes seconds.
kill -TERM "$array"
wait "$array" || true
start_array 10.0.0.1:3260
sanity -csi.secrets "$here/../sanity/array-secrets.yaml" -csi.testvolumemutableparameters "$here/../sanity/array-mutable.yaml"
nothing_left "csi-sanity"
# What the suite is told where it judges the controller alone (.ci/array), and the node's part with its secrets.
sed -e '/^  "Node/d' -e 's/^access = .*/access = "mount"/' -e "s/^deadline = .*/&\nparallel = 1/" \
  -e "s/^all = { /&chap-user = \"alice\", chap-secret = \"$secret\", /" "$here/../../guests/array/conform.toml" |
  conform --addons "unix://$addons"
nothing_left "conform"
! grep -q -e "$secret" -e demo-password -e "$passphrase" "$log" /run/array.log || fail "a log holds a secret"
finish
