#!/usr/bin/env bash
# On a kernel of `machine`: guests/iscsi with a real target (LIO), two portals, CHAP of both sides and multipath. Target and
# node are one kernel, because iSCSI knows the first network alone.
# Usage: iscsi.sh PROGRAM COMPONENT
. "$(dirname "$(realpath "$0")")/lib.sh"
. "$here/initiator.sh"
. "$here/lio.sh"

back=battery-staple-2
initiator_start
lio_start
for number in 0 1 2 3; do
  truncate -s 128M "/root/disk$number"
  losetup "/dev/loop$number" "/root/disk$number"
done
for number in 0 1 2; do lio_disk "d$number" "/dev/loop$number" "$number"; done
lio_target "$target" 10.0.0.1:3260 10.0.0.2:3260
for number in 0 1; do lio_map "$target" "$initiator" "$number" "d$number"; done
lio_chap "$target" "$initiator" alice "$secret" backside-7 "$back"
step "an array: three disks, two of them mapped, two portals, CHAP"

configure iscsi "$targets"
serve
step "the host serves"

file_system='{ "mount": { "fs_type": "ext4" }, "access_mode": { "mode": "SINGLE_NODE_WRITER" } }'
raw='{ "block": {}, "access_mode": { "mode": "SINGLE_NODE_WRITER" } }'
# Arguments: volume, portals, number, identity, whether it is new, capability, secret.
stage_request() {
  mkdir -p "/pods/$1/staged"
  echo "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$1/staged\", \"volume_capability\": ${6:-$file_system},
    \"secrets\": { \"chap-user\": \"alice\", \"chap-secret\": \"${7:-$secret}\", \"target-user\": \"backside-7\", \"target-secret\": \"$back\" },
    \"volume_context\": { \"portals\": \"$2\", \"iqn\": \"$target\", \"lun\": \"$3\", \"identity\": \"$4\", \"new\": \"$5\" } }"
}
stage() { does Node/NodeStageVolume "$(stage_request "$@")"; }
# Arguments: volume, number, identity, whether it is new, capability.
publish_request() {
  mkdir -p "/pods/$1"
  echo "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$1/staged\", \"target_path\": \"/pods/$1/mount\",
    \"volume_capability\": ${5:-$file_system},
    \"volume_context\": { \"portals\": \"$both\", \"iqn\": \"$target\", \"lun\": \"$2\", \"identity\": \"$3\", \"new\": \"$4\" } }"
}
unpublish() { does Node/NodeUnpublishVolume "{ \"volume_id\": \"$1\", \"target_path\": \"/pods/$1/mount\" }"; }
unstage_request() { echo "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$1/staged\" }"; }
unstage() { does Node/NodeUnstageVolume "$(unstage_request "$1")"; }
stats() { does Node/NodeGetVolumeStats "{ \"volume_id\": \"$1\", \"volume_path\": \"/pods/$1/mount\" }" 10s; }

refuses "iscsid does not run" Node/NodeStageVolume "$(stage_request a "$both" 0 "$(identity_of 0)" true)"
iscsid
refuses "multipathd does not run" Node/NodeStageVolume "$(stage_request a "$both" 0 "$(identity_of 0)" true)"
nothing_left "a refused call"
multipathd
step "without iscsid, without multipathd: refused in words, nothing left"

refuses "CHAP" Node/NodeStageVolume "$(stage_request a "$both" 0 "$(identity_of 0)" true "$file_system" wrong-horse-1)"
refuses "no grant opens" Node/NodeStageVolume "$(stage_request a 10.1.0.1:3260 0 "$(identity_of 0)" true)"
refuses "is not the disk" Node/NodeStageVolume "$(stage_request a "$both" 0 "$(identity_of 1)" true)"
refuses "no disk with the number 9" Node/NodeStageVolume "$(stage_request a 10.0.0.1:3260 9 "$(identity_of 0)" true)"
nothing_left "a refused call"
[[ -z $(tr -d '\0' </root/disk0 | head -c 1) ]] || fail "a refused disk was written to"
step "a wrong secret, no grant, another disk, no disk: refused, nothing left or written"

stage a "$both" 0 "$(identity_of 0)" true
step "staged: two sessions, one multipath device, a new file system"
[[ "$(sessions) $(disks) $(maps)" = "2 2 1" ]] || fail "not two paths and one device"
does Node/NodeStageVolume "$(stage_request a "$both" 0 "$(identity_of 0)" true)"
does Node/NodePublishVolume "$(publish_request a 0 "$(identity_of 0)" true)"
dd if=/dev/urandom of=/pods/a/mount/file bs=1M count=8 conv=fsync status=none
sum=$(sha256sum </pods/a/mount/file)
stats a
grep -q '"abnormal": *true' "$answer" && fail "a healthy volume is told of"
! grep -rqs -e "$secret" -e "$back" /etc/iscsi /var/lib/iscsi /run /root/state "$log" || fail "a secret is left: $(grep -rls -e "$secret" -e "$back" /etc/iscsi /var/lib/iscsi /run /root/state "$log")"
[[ -z $(find /etc/iscsi/nodes /var/lib/iscsi/nodes -type f 2>/dev/null) ]] || fail "a node record is left"
step "repeated, published, written; no record and no secret anywhere"

# One portal goes: writing goes on, and the condition says it.
ip addr del 10.0.0.2/32 dev lo
dd if=/dev/urandom of=/pods/a/mount/second bs=1M count=4 conv=fsync status=none
lost() { stats a && grep -q '1 of 2 paths are lost: 10.0.0.2:3260' "$answer"; }
until_true 15 lost
step "a portal lost: written through, and told by NodeGetVolumeStats"
ip addr add 10.0.0.2/32 dev lo
whole() { stats a && ! grep -q 'paths are lost' "$answer"; }
until_true 60 whole
step "the portal is back"

# Growth: every path, the device, the file system.
truncate -s 256M /root/disk0
losetup -c /dev/loop0
does Node/NodeExpandVolume '{ "volume_id": "a", "volume_path": "/pods/a/mount", "capacity_range": { "required_bytes": 268435456 } }'
(($(stat -f -c '%b*%S' /pods/a/mount | bc 2>/dev/null || echo "$(($(stat -f -c '%b' /pods/a/mount) * $(stat -f -c '%S' /pods/a/mount)))") > 200000000)) || fail "the file system has not grown"
step "grown"

# Killed: what is staged stays, and the next host takes it down whole.
killed
serve
[[ $(sha256sum </pods/a/mount/file) = "$sum" ]] || fail "other bytes are read"
# Somebody uses the device outside of the ledger: it is not taken away beneath.
device=$(awk '$2 == "/pods/a/mount" { print $1 }' /proc/self/mounts)
mkdir -p /run/foreign
unpublish a
mount "$device" /run/foreign
! call Node/NodeUnstageVolume "$(unstage_request a)" || fail "a device in use was taken away"
[[ -e /run/foreign/file && "$(sessions) $(disks) $(maps)" = "2 2 1" ]] || fail "a device in use was taken away in part"
umount /run/foreign
unstage a
nothing_left "unstaged"
step "killed, started, used by others: busy; then unstaged: no session, disk or map is left"

# The number of a disk is given to another one.
stage a "$both" 0 "$(identity_of 0)" true
does Node/NodePublishVolume "$(publish_request a 0 "$(identity_of 0)" true)"
[[ $(sha256sum </pods/a/mount/file) = "$sum" ]] || fail "other bytes are read"
stage r 10.0.0.1:3260 1 "$(identity_of 1)" false "$raw"
before=$(sha256sum </root/disk2)
lio_unmap "$target" "$initiator" 1
lio_map "$target" "$initiator" 1 d2
refuses "is not the disk" Node/NodePublishVolume "$(publish_request r 1 "$(identity_of 1)" false "$raw")"
[[ $(sha256sum </root/disk2) = "$before" ]] || fail "a foreign disk was written to"
unstage r
[[ "$(sessions) $(disks) $(maps)" = "2 2 1" ]] || fail "a session that another volume uses was ended, or a stale disk is left"
refuses "is not the disk" Node/NodeStageVolume "$(stage_request r "$both" 1 "$(identity_of 1)" true)"
stage r "$both" 1 "$(identity_of 2)" false "$raw"
does Node/NodePublishVolume "$(publish_request r 1 "$(identity_of 2)" false "$raw")"
dd if=/dev/urandom of=/pods/r/mount bs=1M count=1 conv=fsync status=none
cmp -n 1048576 /pods/r/mount /root/disk2 || fail "other bytes are on the disk"
unpublish r
unstage r
step "a number that is used again: refused by the disk's own name; the session stays for the other volume"

# What is not empty, or cannot be read, is not formatted.
refuses "is not empty" Node/NodeStageVolume "$(stage_request r "$both" 1 "$(identity_of 2)" true)"
modprobe dm-mod
sectors=$(blockdev --getsz /dev/loop3)
dmsetup create broken --table "0 $sectors linear /dev/loop3 0"
lio_unmap "$target" "$initiator" 1
lio_disk d4 /dev/mapper/broken 4
lio_map "$target" "$initiator" 1 d4
stage q 10.0.0.1:3260 1 "$(identity_of 4)" false "$raw"
unstage q
printf '0 8 linear /dev/loop3 0\n8 2048 error\n2056 %d linear /dev/loop3 2056\n' $((sectors - 2056)) | dmsetup load broken
dmsetup resume broken
refuses "reading" Node/NodeStageVolume "$(stage_request q 10.0.0.1:3260 1 "$(identity_of 4)" true)"
[[ -z $(tr -d '\0' </root/disk3 | head -c 1) ]] || fail "an unreadable disk was formatted"
step "a disk with contents, a disk that cannot be read: not formatted"

# Killed while it connects: one portal answers, the other one does not.
unpublish a
unstage a
nothing_left "unstaged"
ip addr del 10.0.0.2/32 dev lo
"$program" call --socket "$socket" --timeout 100s csi.v1.Node/NodeStageVolume \
  "$(stage_request q "$both" 1 "$(identity_of 4)" false "$raw")" >/run/hanging 2>&1 &
until_true 30 pgrep -x iscsiadm
killed
wait
ip addr add 10.0.0.2/32 dev lo
serve
nothing() { [[ "$(sessions) $(disks)" = "0 0" ]]; }
until_true 20 nothing
step "killed while connecting: nothing is left"

# There is no controller: the first judge makes the volumes that it looks at by one, so those of its specs are left out that do;
# the second one is given the first disk, by one portal: a multipath device takes seconds.
sanity -ginkgo.focus 'Identity Service|Node Service' -ginkgo.skip 'with single node multi writer|should remove target path|NodeStageVolume should fail when no volume capability|does not exist on the specified path|NodeExpandVolume should (work|fail when no volume path)|health for a valid volume'
nothing_left "csi-sanity"
conform <<WITH
deadline = "30s"
parallel = 1
[capabilities]
access = "mount"
[secrets]
all = { chap-user = "alice", chap-secret = "$secret", target-user = "backside-7", target-secret = "$back" }
[volumes]
existing = "a"
existing_context = { portals = "10.0.0.1:3260", iqn = "$target", lun = "0", identity = "$(identity_of 0)" }
WITH
nothing_left "conform"
finish
