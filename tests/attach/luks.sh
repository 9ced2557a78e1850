#!/usr/bin/env bash
# On a kernel of `machine`: encrypted volumes of guests/iscsi, on a real target (LIO) with one portal. What the disks hold, what is refused,
# what a kill leaves, and what a lost disk does.
# Usage: luks.sh PROGRAM COMPONENT
. "$(dirname "$(realpath "$0")")/lib.sh"
. "$here/initiator.sh"
. "$here/lio.sh"

passphrase=correct-horse-battery-1
next=staple-correct-horse-2
portal=10.0.0.1:3260
marker=plain-text-of-a-workload
initiator_start
lio_start
iscsid
for number in 0 1 2 3; do
  truncate -s 40M "/root/disk$number"
  losetup "/dev/loop$number" "/root/disk$number"
  lio_disk "d$number" "/dev/loop$number" "$number"
  echo 1 >"$lio/core/iblock_0/d$number/attrib/emulate_tpu"
done
lio_target "$target" "$portal"
for number in 0 1 2 3; do lio_map "$target" "$initiator" "$number" "d$number"; done
lio_chap "$target" "$initiator" alice "$secret" backside-7 battery-staple-2
configure iscsi "$targets" "addons = \"unix://$addons\""
serve
step "an array with four disks; the host serves"

file_system='{ "mount": { "fs_type": "ext4" }, "access_mode": { "mode": "SINGLE_NODE_WRITER" } }'
# Arguments: more of them.
secrets() { echo "{ \"chap-user\": \"alice\", \"chap-secret\": \"$secret\" ${1:-} }"; }
with() { secrets ", \"passphrase\": \"$1\" ${2:-}"; }
# Arguments: number of the disk, after which the volume is called; secrets; whether it is new, and encrypted.
stage_request() {
  mkdir -p "/pods/v$1/staged"
  echo "{ \"volume_id\": \"v$1\", \"staging_target_path\": \"/pods/v$1/staged\", \"volume_capability\": $file_system, \"secrets\": $2,
    \"volume_context\": { \"portals\": \"$portal\", \"iqn\": \"$target\", \"lun\": \"$1\", \"identity\": \"$(identity_of "$1")\",
      \"new\": \"${3:-true}\", \"encrypted\": \"${4:-true}\" } }"
}
stage() { does Node/NodeStageVolume "$(stage_request "$@")"; }
unstage_request() { echo "{ \"volume_id\": \"v$1\", \"staging_target_path\": \"/pods/v$1/staged\" }"; }
unstage() { does Node/NodeUnstageVolume "$(unstage_request "$1")"; }
mappings() { grep -ls CRYPT- /sys/block/dm-*/dm/uuid | wc -l; }
locked() { [[ "$(sessions) $(disks) $(mappings)" = "0 0 0" ]] || fail "left: $(sessions) sessions, $(disks) disks, $(mappings) mappings ($1)"; }
is_zero() { cmp -s -n 2097152 "/root/disk$1" /dev/zero; }
sum() { sha256sum <"/pods/v$1/staged/file"; }

# Without a passphrase, and where the kernel cannot do it: nothing is written.
refuses 'has no passphrase' Node/NodeStageVolume "$(stage_request 0 "$(secrets)")"
grep -qi unauthenticated "$answer" || fail "a missing passphrase has another code"
refuses '8 to 512 bytes' Node/NodeStageVolume "$(stage_request 0 "$(with short)")"
loader=$(cat /proc/sys/kernel/modprobe)
echo /bin/false >/proc/sys/kernel/modprobe
refuses 'modprobe dm-crypt' Node/NodeStageVolume "$(stage_request 0 "$(with "$passphrase")")"
echo "$loader" >/proc/sys/kernel/modprobe
is_zero 0 || fail "a refused disk was written to"
locked "refused"
step "no passphrase, a short one, a kernel without dm-crypt: refused, nothing left"

# While it works, whoever looks at all arguments and environments sees no passphrase.
(while sleep 0.1; do cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -e luksFormat -e "^$passphrase" || true; done) >/run/arguments &
watcher=$!
"$program" call --socket "$socket" --timeout 60s csi.v1.Node/NodeStageVolume - <<<"$(stage_request 0 "$(with "$passphrase")")" >"$answer" 2>&1 || fail "staging was refused"
kill "$watcher"
grep -q luksFormat /run/arguments || fail "nobody looked while it worked"
! grep -q "$passphrase" /run/arguments || fail "a passphrase is in an argument"
(yes "$marker" || true) | head -c 4M >/pods/v0/staged/file
sync -f /pods/v0/staged
before=$(sum 0)
[[ "$(mappings)" = 1 ]] || fail "it is not encrypted"
! grep -qa "$marker" /root/disk0 || fail "the array has the plain text"
! grep -rqs "$passphrase" /root/state /run/drivebay* /etc "$log" /dev/shm || fail "the passphrase is in a file"
! grep -v keyring /proc/keys | grep -q . || fail "the key is in a keyring of the kernel: $(cat /proc/keys)"
does Node/NodeStageVolume "$(stage_request 0 "$(with "$passphrase")")"
step "a new volume: encrypted, no plain text on the array, the passphrase nowhere"

truncate -s 64M /root/disk0
losetup -c /dev/loop0
does Node/NodeExpandVolume '{ "volume_id": "v0", "volume_path": "/pods/v0/staged", "capacity_range": { "required_bytes": 67108864 } }'
grep -q 67108864 "$answer" || fail "the volume has another size than its disk"
(($(stat -f -c %b /pods/v0/staged) * $(stat -f -c %S /pods/v0/staged) > 40000000)) || fail "the file system has not grown"
fstrim /pods/v0/staged || fail "no unused blocks are given back"
[[ $(sum 0) = "$before" ]] || fail "other bytes are read"
step "grown and trimmed while it is used"

# Another passphrase, while it is used. While the secret has both, either will do.
rotate() { "$program" call --socket "$addons" --timeout 60s encryptionkeyrotation.EncryptionKeyRotationController/EncryptionKeyRotate "$1" >"$answer" 2>&1; }
rotate "{ \"volume_id\": \"v0\", \"secrets\": $(with "$passphrase" ", \"new-passphrase\": \"$next\"") }" || fail "no other passphrase"
unstage 0
locked "unstaged"
refuses 'opens none of the key slots' Node/NodeStageVolume "$(stage_request 0 "$(with "$passphrase")" false)"
grep -qi unauthenticated "$answer" || fail "a wrong passphrase has another code"
locked "refused"
stage 0 "$(with "$passphrase" ", \"new-passphrase\": \"$next\"")" false
[[ $(sum 0) = "$before" ]] || fail "other bytes are read"
step "another passphrase: the former one opens nothing, the same bytes"

# A copy that the array made has the same header, and is used beside its original.
truncate -s 0 /root/disk1
truncate -s 64M /root/disk1
dd if=/root/disk0 of=/root/disk1 bs=1M conv=sparse,notrunc status=none
losetup -c /dev/loop1
stage 1 "$(with "$next")" false
[[ $(sum 1) = "$before" && "$(mappings)" = 2 ]] || fail "a copy is not used beside its original"
unstage 1
step "a copy of the disk, beside its original"

# Killed: what is staged stays, and is locked by the next host.
killed
serve
[[ $(sum 0) = "$before" ]] || fail "other bytes are read"
# Somebody uses the mapping outside of the ledger.
device=$(awk '$2 == "/pods/v0/staged" { print $1 }' /proc/self/mounts)
mkdir -p /run/foreign
mount "$device" /run/foreign
! call Node/NodeUnstageVolume "$(unstage_request 0)" || fail "a mapping in use was taken away"
[[ "$(mappings)" = 1 && -e /run/foreign/file ]] || fail "a mapping in use was taken away"
umount /run/foreign
unstage 0
locked "unstaged"
step "killed, started, used by others: busy; then locked"

# What is not empty, not encrypted, or encrypted in name alone.
mkfs.ext4 -q -F /root/disk2
contents=$(sha256sum </root/disk2)
refuses 'is not empty' Node/NodeStageVolume "$(stage_request 2 "$(with "$passphrase")")"
refuses 'no header of LUKS2' Node/NodeStageVolume "$(stage_request 2 "$(with "$passphrase")" false)"
[[ $(sha256sum </root/disk2) = "$contents" ]] || fail "a disk with contents was written to"
printf %s "$passphrase" | cryptsetup --batch-mode --type luks2 --cipher null --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file - luksFormat /root/disk3
refuses 'cipher is another one' Node/NodeStageVolume "$(stage_request 3 "$(with "$passphrase")" false)"
locked "refused"
step "contents, no header, a header without a cipher: refused, nothing written"

# Killed between two steps: while the header is written, and when it has just been opened.
nothing() { [[ "$(sessions) $(disks) $(mappings)" = "0 0 0" ]]; }
is_open() { [[ "$(mappings)" = 1 ]]; }
for moment in 'pgrep -x cryptsetup' is_open; do
  truncate -s 0 /root/disk2
  truncate -s 40M /root/disk2
  "$program" call --socket "$socket" --timeout 60s csi.v1.Node/NodeStageVolume "$(stage_request 2 "$(with "$passphrase")")" >/run/hanging 2>&1 &
  until_true 30 $moment
  killed
  serve
  until_true 20 nothing
  is_zero 2 || fail "a disk that was being encrypted is not empty again"
done
stage 2 "$(with "$passphrase")"
step "killed while the header is written, killed when it is open: locked, empty again, and made the next time"

# The disk is taken away underneath: an error, no hang, and others go on.
stage 1 "$(with "$next")" false
lio_unmap "$target" "$initiator" 2
! timeout 30 dd if=/dev/zero of=/pods/v2/staged/lost bs=1M count=4 conv=fsync status=none 2>/dev/null || fail "a lost disk was written to"
echo more >>/pods/v1/staged/file
sync -f /pods/v1/staged
does Node/NodeExpandVolume '{ "volume_id": "v1", "volume_path": "/pods/v1/staged" }' 20s
refuses 'could not be stored' Node/NodeUnstageVolume "$(unstage_request 2)"
unstage 2
[[ "$(mappings)" = 1 ]] || fail "the mapping of a lost disk is left"
unstage 1
locked "unstaged"
step "a disk lost underneath: an error, another volume goes on; told once, then taken down"
! grep -q -e "$passphrase" -e "$next" -e "$secret" "$log" || fail "the log holds a secret"
! grep -rqs -e "$passphrase" -e "$next" /root/state || fail "the state holds a passphrase"
finish
