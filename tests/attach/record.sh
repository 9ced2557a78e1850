#!/usr/bin/env bash
# On a kernel of `machine`: what the programs of the distribution say and end with, in the cases that the host tells apart. What it
# prints is what the files in host/node/src/helper/recorded are shortened from: a case, `$` and the command, `=` and
# the status, the words. Run it again where a distribution has new versions, and compare.
# Usage: record.sh
. "$(dirname "$(realpath "$0")")/lib.sh"
. "$here/initiator.sh"
. "$here/lio.sh"

# Arguments: the case, the command.
record() {
  local case=$1 status=0
  shift
  "$@" </dev/null >"$answer" 2>&1 || status=$?
  printf '\n# %s\n$ %s\n= %d\n' "$case" "$*" "$status"
  cat "$answer"
}

back=battery-staple-2
initiator_start
lio_start
for number in 0 1 2; do
  truncate -s 64M "/root/disk$number"
  losetup "/dev/loop$number" "/root/disk$number"
done
lio_disk d0 /dev/loop0 0
lio_target "$target" 10.0.0.1:3260 10.0.0.2:3260
lio_map "$target" "$initiator" 0 d0
lio_chap "$target" "$initiator" alice "$secret" backside-7 "$back"

# Arguments: target, portal, secret.
node_record() {
  local record=(iscsiadm --mode node --targetname "$1" --portal "$2")
  "${record[@]}" --op new >/dev/null
  local pair
  for pair in node.session.scan=manual node.session.initial_login_retry_max=1 node.conn[0].timeo.login_timeout=5 \
    node.session.auth.authmethod=CHAP node.session.auth.username=alice "node.session.auth.password=$3"; do
    "${record[@]}" --op update --name "${pair%%=*}" --value "${pair#*=}"
  done
}
login() { record "$1" iscsiadm --mode node --targetname "$2" --portal "$3" --login; }

for program in 'iscsiadm --version' 'multipath -h' 'e2fsck -V' 'umount --version' 'cryptsetup --version' 'dmsetup version'; do
  $program 2>&1 | sed -n 1p
done
login "no record" "$target" 10.0.0.1:3260
mkdir -p /etc/iscsi/nodes
node_record "$target" 10.0.0.1:3260 "$secret" || true
login "iscsid does not run" "$target" 10.0.0.1:3260
iscsid
node_record "$target" 10.0.0.1:3260 wrong-horse-1
login "a wrong secret" "$target" 10.0.0.1:3260
node_record "$target" 10.0.0.1:3260 "$secret"
login "done" "$target" 10.0.0.1:3260
login "there already" "$target" 10.0.0.1:3260
node_record "$target" 10.0.0.1:3999 "$secret"
login "nobody listens" "$target" 10.0.0.1:3999
node_record "$target" 10.0.0.9:3260 "$secret"
login "no way to the address" "$target" 10.0.0.9:3260
node_record "$target-other" 10.0.0.1:3260 "$secret"
login "no such target" "$target-other" 10.0.0.1:3260
node_record "$target" 10.0.0.2:3260 "$secret"
login "a second portal" "$target" 10.0.0.2:3260
for host in /sys/class/scsi_host/host*/scan; do echo '- - 0' >"$host"; done
disk() { find /sys/block -name 'sd*' | sort | sed -n "${1}s,.*/,,p"; }
second() { [[ -n $(disk 2) ]]; }
until_true 10 second
printf '\n# page 0x83 of the disk\n'
od -An -v -tx1 "/sys/block/$(disk 1)/device/vpd_pg83"

record "multipathd does not run" multipathd show daemon
multipathd
running() { multipathd show daemon | grep -q pid; }
until_true 10 running
record "multipathd runs" multipathd show daemon
for number in 1 2; do
  record "a path is known" multipath -a "/dev/$(disk "$number")"
  record "a path is added" multipathd add path "$(disk "$number")"
done
map() { grep -ls mpath- /sys/block/dm-*/dm/uuid; }
until_true 20 map
name=$(cat "$(dirname "$(map)")/name")
mkfs.ext4 -q "/dev/mapper/$name"
mkdir -p /run/used
mount "/dev/mapper/$name" /run/used
record "a map in use" multipath -f "$name"
record "the size is the same" multipathd resize map "$name"
cd /run/used
record "a mount in use" umount /run/used
cd /
record "unmounted" umount /run/used
record "not mounted" umount /run/used
record "a map that nothing uses" multipath -f "$name"
record "no such map" multipath -f "$name"
record "a disk is forgotten" multipath -w "/dev/$(disk 1)"
session=$(find /sys/class/iscsi_session -mindepth 1 -name 'session*' | sort | sed -n '1s,.*session,,p')
record "logged out" iscsiadm --mode session --sid "$session" --logout
record "not there" iscsiadm --mode session --sid "$session" --logout

mkfs.ext4 -q /dev/loop1
record "clean" e2fsck -p /dev/loop1
# A count of free blocks that is wrong is corrected; a root directory that is none is not, without being asked.
debugfs -w -R 'set_super_value free_blocks_count 7' /dev/loop1 2>/dev/null
debugfs -w -R 'set_super_value state 0' /dev/loop1 2>/dev/null
record "corrected" e2fsck -p /dev/loop1
debugfs -w -R 'clri <2>' /dev/loop1 2>/dev/null
debugfs -w -R 'set_super_value state 0' /dev/loop1 2>/dev/null
record "damaged" e2fsck -p /dev/loop1
record "damaged, and all is answered with yes" e2fsck -f -y /dev/loop1
record "no ext4" e2fsck -p /dev/loop2
sectors=$(blockdev --getsz /dev/loop1)
printf '0 8 error\n8 %d linear /dev/loop1 8\n' $((sectors - 8)) | dmsetup create unreadable
record "unreadable" e2fsck -p /dev/mapper/unreadable
record "empty, to blkid" blkid -p /dev/loop2
record "unreadable, to blkid" blkid -p /dev/mapper/unreadable

# LUKS2. The second argument is what it reads as its passphrase.
told() {
  local case=$1 passphrase=$2 status=0
  shift 2
  printf %s "$passphrase" | "$@" >"$answer" 2>&1 || status=$?
  printf '\n# %s\n$ %s\n= %d\n' "$case" "$*" "$status"
  cat "$answer"
}
crypt=(cryptsetup --batch-mode --type luks2 --key-file -)
light=(--pbkdf argon2id --pbkdf-memory 65536 --pbkdf-parallel 4 --pbkdf-force-iterations 4)
other=battery-staple-2
told "formatted" "$secret" "${crypt[@]}" "${light[@]}" luksFormat /dev/loop2
modprobe -r dm-crypt 2>/dev/null || true
loader=$(cat /proc/sys/kernel/modprobe)
echo /bin/false >/proc/sys/kernel/modprobe
told "the kernel has no dm-crypt" "$secret" "${crypt[@]}" --disable-keyring open /dev/loop2 vol
echo "$loader" >/proc/sys/kernel/modprobe
told "a wrong passphrase" "$other" "${crypt[@]}" --disable-keyring open /dev/loop2 vol
told "opened" "$secret" "${crypt[@]}" --disable-keyring --allow-discards open /dev/loop2 vol
record "opened" dmsetup table vol
told "open already" "$secret" "${crypt[@]}" --disable-keyring open /dev/loop2 vol
told "the passphrase opens" "$secret" "${crypt[@]}" --test-passphrase open /dev/loop2
told "it does not open" "$other" "${crypt[@]}" --test-passphrase open /dev/loop2
mkfs.ext4 -q /dev/mapper/vol
mount /dev/mapper/vol /run/used
record "a mapping in use" cryptsetup close vol
umount /run/used
truncate -s 128M /root/disk2
losetup -c /dev/loop2
record "resized" cryptsetup --batch-mode resize vol
[[ -e /dev/fd ]] || ln -s /proc/self/fd /dev/fd
exec 7< <(printf %s "$other")
told "changed" "$secret" "${crypt[@]}" "${light[@]}" luksChangeKey /dev/loop2 /proc/self/fd/7
exec 7<&-
record "closed" cryptsetup close vol
record "not open" cryptsetup close vol
told "the key in a keyring" "$other" "${crypt[@]}" open /dev/loop2 vol
record "the key in a keyring" dmsetup table vol
cryptsetup close vol
told "unreadable" "$secret" "${crypt[@]}" --disable-keyring open /dev/mapper/unreadable vol
(ulimit -v 60000 && told "a slot that wants more memory" "$other" "${crypt[@]}" --test-passphrase open /dev/loop2)
told "the last slot erased" "$other" "${crypt[@]}" luksRemoveKey /dev/loop2
told "no key slot" "$other" "${crypt[@]}" --test-passphrase open /dev/loop2
wipefs -qa /dev/loop2
told "no header" "$other" "${crypt[@]}" --disable-keyring open /dev/loop2 vol
for cipher in null serpent-xts-plain64; do
  wipefs -qa /dev/loop2
  told "formatted with $cipher" "$secret" "${crypt[@]}" --cipher "$cipher" --pbkdf pbkdf2 --pbkdf-force-iterations 1000 luksFormat /dev/loop2
  told "opened with $cipher" "$secret" "${crypt[@]}" --disable-keyring open /dev/loop2 vol
  record "a mapping with $cipher" dmsetup table vol
  cryptsetup close vol
done
