#!/usr/bin/env bash
# On a kernel of `emulated`: guests/iscsi with an NVMe/TCP subsystem (nvmet), two portals and the kernel's own multipath. Array and node
# are one kernel.
# Usage: nvme.sh PROGRAM COMPONENT
. "$(dirname "$(realpath "$0")")/lib.sh"
. "$here/nvmet.sh"

subsystem=nqn.2026-11.dev.drivebay:array
node=nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555
both=10.0.0.1,10.0.0.2
secret=DHHC-1:00:bm90LWEtc2VjcmV0LW9mLWFueWJvZHktYXQtYWxsISE=:
controllers() { find /sys/class/nvme -mindepth 1 2>/dev/null | wc -l; }
devices() { find /sys/block -name 'nvme*n*' ! -name 'nvme*c*' | wc -l; }
nothing_left() { [[ "$(controllers) $(devices)" = "0 0" ]] || fail "left: $(controllers) controllers, $(devices) devices ($*)"; }

modprobe -a loop nvmet-tcp ext4
for way in 1 2; do ip addr add "10.0.0.$way/32" dev lo; done
for number in 0 1 2 3; do
  truncate -s 64M "/root/disk$number"
  losetup "/dev/loop$number" "/root/disk$number"
done
nvmet_start
nvmet_subsystem "$subsystem" "$node"
nvmet_map "$subsystem" 1 /dev/loop0 1
nvmet_map "$subsystem" 2 /dev/loop1 2
for way in 1 2; do nvmet_port "$way" "10.0.0.$way" "$subsystem"; done
step "an array: two namespaces, two portals"

configure iscsi "attach = [{ protocol = \"nvme-tcp\", portals = [\"10.0.0.0/24\"], nqn = \"nqn.2026-11.dev.drivebay:*\" }]"
serve
step "the host serves"

file_system='{ "mount": { "fs_type": "ext4" }, "access_mode": { "mode": "SINGLE_NODE_WRITER" } }'
raw='{ "block": {}, "access_mode": { "mode": "SINGLE_NODE_WRITER" } }'
# Arguments: volume, portals, number, identity, whether it is new, capability, secrets, subsystem.
stage_request() {
  mkdir -p "/pods/$1/staged"
  echo "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$1/staged\", \"volume_capability\": ${6:-$file_system},
    \"secrets\": ${7:-{\}},
    \"volume_context\": { \"portals\": \"$2\", \"nqn\": \"${8:-$subsystem}\", \"namespace\": \"$3\", \"identity\": \"$4\", \"new\": \"$5\" } }"
}
stage() { does Node/NodeStageVolume "$(stage_request "$@")"; }
# Arguments: volume, number, identity, whether it is new, capability.
publish_request() {
  mkdir -p "/pods/$1"
  echo "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$1/staged\", \"target_path\": \"/pods/$1/mount\",
    \"volume_capability\": ${5:-$file_system},
    \"volume_context\": { \"portals\": \"$both\", \"nqn\": \"$subsystem\", \"namespace\": \"$2\", \"identity\": \"$3\", \"new\": \"$4\" } }"
}
publish() { does Node/NodePublishVolume "$(publish_request "$@")"; }
unpublish() { does Node/NodeUnpublishVolume "{ \"volume_id\": \"$1\", \"target_path\": \"/pods/$1/mount\" }"; }
unstage_request() { echo "{ \"volume_id\": \"$1\", \"staging_target_path\": \"/pods/$1/staged\" }"; }
unstage() { does Node/NodeUnstageVolume "$(unstage_request "$1")"; }
stats() { does Node/NodeGetVolumeStats "{ \"volume_id\": \"$1\", \"volume_path\": \"/pods/$1/mount\" }"; }

refuses "no NVMe host name" Node/NodeStageVolume "$(stage_request a "$both" 1 "$(identity_of 1)" true)"
mkdir -p /etc/nvme
echo "$node" >/etc/nvme/hostnqn
refuses "no grant opens" Node/NodeStageVolume "$(stage_request a 10.1.0.1 1 "$(identity_of 1)" true)"
refuses "is not the disk" Node/NodeStageVolume "$(stage_request a "$both" 1 "$(identity_of 2)" true)"
refuses "no namespace 9" Node/NodeStageVolume "$(stage_request a 10.0.0.1 9 "$(identity_of 1)" true)"
refuses "look at the array's list of hosts" Node/NodeStageVolume "$(stage_request a 10.0.0.1 1 "$(identity_of 1)" true "$file_system" '{}' "$subsystem-2")"
# The distribution's kernel has no authentication: then nothing is connected without it.
refuses "no authentication" Node/NodeStageVolume "$(stage_request a "$both" 1 "$(identity_of 1)" true "$file_system" "{ \"dhchap-secret\": \"$secret\" }")"
nothing_left "a refused call"
[[ -z $(tr -d '\0' </root/disk0 | head -c 1) ]] || fail "a refused namespace was written to"
! grep -rqs "$secret" /etc/nvme /run/drivebay /root/state "$log" || fail "a secret is left"
step "no name, no grant, another namespace, none, no such subsystem, no authentication: refused, nothing left or written"

stage a "$both" 1 "$(identity_of 1)" true
step "staged: two controllers, one device, a new file system"
[[ "$(controllers) $(devices)" = "2 2" ]] || fail "not two controllers and the subsystem's two devices"
does Node/NodeStageVolume "$(stage_request a "$both" 1 "$(identity_of 1)" true)"
publish a 1 "$(identity_of 1)" true
device=$(awk '$2 == "/pods/a/mount" { print $1 }' /proc/self/mounts)
[[ $(cat /sys/class/nvme/nvme*/ctrl_loss_tmo | sort -u) = off ]] || fail "a lost controller would take its device away"
dd if=/dev/urandom of=/pods/a/mount/file bs=1M count=8 conv=fsync status=none
sum=$(sha256sum </pods/a/mount/file)
stats a
! grep -q '"abnormal": *true' "$answer" || fail "a healthy volume is told of"
step "repeated, published, written"

# A portal goes: writing goes on, and the condition says it.
ip addr del 10.0.0.2/32 dev lo
dd if=/dev/urandom of=/pods/a/mount/second bs=1M count=4 conv=fsync status=none
lost() { stats a && grep -q '1 of 2 paths are lost: 10.0.0.2:4420' "$answer"; }
until_true 30 lost
step "a portal lost: written through, and told"
ip addr add 10.0.0.2/32 dev lo
whole() { stats a && ! grep -q 'paths are lost' "$answer"; }
until_true 60 whole
# The array lets one portal not be used for it.
echo inaccessible >"$nvmet/ports/1/ana_groups/1/ana_state"
inaccessible() { stats a && grep -q '1 of 2 paths are lost: 10.0.0.1:4420' "$answer"; }
until_true 20 inaccessible
dd if=/dev/urandom of=/pods/a/mount/second bs=1M count=4 conv=fsync status=none
echo optimized >"$nvmet/ports/1/ana_groups/1/ana_state"
until_true 20 whole
step "the portal is back; another one inaccessible: told, and written through"

truncate -s 128M /root/disk0
losetup -c /dev/loop0
nvmet_grown "$subsystem" 1
does Node/NodeExpandVolume '{ "volume_id": "a", "volume_path": "/pods/a/mount", "capacity_range": { "required_bytes": 134217728 } }'
(($(stat -f -c %b /pods/a/mount) * $(stat -f -c %S /pods/a/mount) > 100000000)) || fail "the file system has not grown"
step "grown"

# Killed: what is staged stays, and the next host takes it down whole. Whoever uses the device outside of the ledger keeps it, and so
# does whoever uses another namespace of the same controllers.
killed
serve
[[ $(sha256sum </pods/a/mount/file) = "$sum" ]] || fail "other bytes are read"
unpublish a
mkdir -p /run/foreign
mount "$device" /run/foreign
! call Node/NodeUnstageVolume "$(unstage_request a)" || fail "a device in use was taken away"
[[ -e /run/foreign/file && "$(controllers) $(devices)" = "2 2" ]] || fail "a device in use was taken away in part"
umount /run/foreign
other=$(grep -l '^2$' /sys/block/nvme*n*/nsid | grep -v 'c[0-9]*n' | cut -d/ -f4)
mkfs.ext4 -q "/dev/$other"
mount "/dev/$other" /run/foreign
unstage a
touch /run/foreign/file
sync -f /run/foreign || fail "a namespace of somebody else was taken away"
[[ $(controllers) = 2 ]] || fail "a controller that somebody else uses was deleted"
umount /run/foreign
for controller in /sys/class/nvme/nvme*; do echo 1 >"$controller/delete_controller"; done
nothing_left "unstaged"
step "killed, started, used by others: busy; unstaged beside somebody else's namespace, which stays"

# A controller that was there before is used, and not ended.
echo "transport=tcp,traddr=10.0.0.1,trsvcid=4420,nqn=$subsystem,hostnqn=$node,hostid=${node##*:}" >/dev/nvme-fabrics
stage a "$both" 1 "$(identity_of 1)" true
publish a 1 "$(identity_of 1)" true
[[ $(sha256sum </pods/a/mount/file) = "$sum" && $(controllers) = 2 ]] || fail "not the same bytes over two controllers"
unpublish a
unstage a
[[ $(controllers) = 1 ]] || fail "the controller of somebody else was deleted, or ours was not"
echo 1 >/sys/class/nvme/nvme0/delete_controller
nothing_left "unstaged"
step "a controller that was there before: shared, and left"

# The number of a namespace is given to another one.
stage a "$both" 1 "$(identity_of 1)" true
stage r 10.0.0.1 2 "$(identity_of 2)" false "$raw"
before=$(sha256sum </root/disk2)
nvmet_unmap "$subsystem" 2
nvmet_map "$subsystem" 2 /dev/loop2 3
refuses "is not the disk" Node/NodePublishVolume "$(publish_request r 2 "$(identity_of 2)" false "$raw")"
[[ $(sha256sum </root/disk2) = "$before" ]] || fail "a foreign namespace was written to"
unstage r
[[ $(controllers) = 2 ]] || fail "a controller that another volume uses was deleted"
refuses "is not the disk" Node/NodeStageVolume "$(stage_request r "$both" 2 "$(identity_of 2)" true)"
stage r "$both" 2 "$(identity_of 3)" false "$raw"
publish r 2 "$(identity_of 3)" false "$raw"
dd if=/dev/urandom of=/pods/r/mount bs=1M count=1 conv=fsync status=none
cmp -n 1048576 /pods/r/mount /root/disk2 || fail "other bytes are on the disk"
unpublish r
unstage r
refuses "is not empty" Node/NodeStageVolume "$(stage_request r "$both" 2 "$(identity_of 3)" true)"
unstage a
nothing_left "unstaged"
step "a number that is used again: refused by the namespace's own name; the controllers stay for the other volume"

# Killed while it connects: one portal answers, the other one holds whoever comes.
ip addr del 10.0.0.2/32 dev lo
ip link add cut type dummy
ip link set cut up
ip route add 10.0.0.2/32 dev cut src 10.0.0.1
ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev cut nud permanent
turned=10.0.0.2,10.0.0.1
"$program" call --socket "$socket" --timeout 100s csi.v1.Node/NodeStageVolume \
  "$(stage_request a "$turned" 1 "$(identity_of 1)" false "$raw")" >/run/hanging 2>&1 &
until_true 30 pgrep -f node-fabrics
killed
wait
serve
nothing() { [[ "$(controllers) $(devices)" = "0 0" ]]; }
until_true 40 nothing
step "killed while connecting: nothing is left"
stage a "$turned" 1 "$(identity_of 1)" false "$raw"
[[ $(controllers) = 1 ]] || fail "not one controller"
grep -q "10.0.0.2:4420: the portal does not answer" "$log" || fail "no portal was silent"
unstage a
nothing_left "unstaged"
step "a portal that never answers: connected by the other one"
finish
