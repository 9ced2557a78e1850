# A node that reaches an iSCSI target: its name, two addresses of the first network, udev, multipath; and what the kernel has
# of sessions and disks. Sourced by walks. Target and node are one kernel, because iSCSI knows the first network alone.
target=iqn.2026-11.dev.drivebay:array
initiator=iqn.2026-11.dev.drivebay:worker-1
secret=correct-horse-1
both=10.0.0.1:3260,10.0.0.2:3260
targets='attach = [{ protocol = "iscsi", portals = ["10.0.0.0/24:3260"], iqn = "iqn.2026-11.dev.drivebay:*" }]'

# Without its daemons, iscsid and multipathd, which walks start.
initiator_start() {
  local way
  modprobe -a loop iscsi_tcp sd_mod dm-multipath dm-service-time
  for way in 1 2; do ip addr add "10.0.0.$way/32" dev lo; done
  mkdir -p /run/lock/iscsi /run/udev /etc/iscsi
  echo "InitiatorName=$initiator" >/etc/iscsi/initiatorname.iscsi
  cat >/etc/multipath.conf <<CONF
defaults {
  user_friendly_names no
  polling_interval 1
  max_polling_interval 2
  no_path_retry 10
}
CONF
  /lib/systemd/systemd-udevd --daemon
  udevadm trigger -s block
  udevadm settle -t 20
}

sessions() { find /sys/class/iscsi_session -mindepth 1 2>/dev/null | wc -l; }
disks() { find /sys/block -name 'sd*' | wc -l; }
maps() { find /sys/block -name 'dm-*' | wc -l; }
nothing_left() {
  [[ "$(sessions) $(disks)" = "0 0" && -z $(grep -ls mpath- /sys/block/dm-*/dm/uuid) ]] ||
    fail "left: $(sessions) sessions, $(disks) disks, $(maps) maps ($*)"
}
