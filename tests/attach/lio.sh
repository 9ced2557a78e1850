# An iSCSI array in the kernel (LIO), driven by its file tree as an array is by its interface. Sourced by walks.
lio=/sys/kernel/config/target

# Disks are called by a number of 25 hexadecimal digits, which is the end of their identity.
serial_of() { printf '%025x' "$1"; }
identity_of() { printf 'naa.6001405%025x' "$1"; }

lio_start() {
  modprobe -a target_core_mod target_core_iblock iscsi_target_mod
  mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
  mkdir -p /var/target "$lio/iscsi"
}

# A disk on a block device, whose size it follows. Arguments: name, device, number.
lio_disk() {
  local disk=$lio/core/iblock_0/$1
  mkdir -p "$disk"
  echo "udev_path=$2,readonly=0" >"$disk/control"
  echo 1 >"$disk/enable"
  serial_of "$3" >"$disk/wwn/vpd_unit_serial"
}

# A target that wants CHAP, with all its portals. Arguments: name, portals.
lio_target() {
  local group=$lio/iscsi/$1/tpgt_1 portal
  shift
  mkdir -p "$group"
  for portal; do mkdir "$group/np/$portal"; done
  echo 1 >"$group/attrib/authentication"
  echo 1 >"$group/enable"
}

# A disk at a number, for one initiator. Arguments: target, initiator, number, disk.
lio_map() {
  local group=$lio/iscsi/$1/tpgt_1
  local list=$group/acls/$2
  mkdir -p "$list"
  mkdir "$group/lun/lun_$3"
  ln -s "$lio/core/iblock_0/$4" "$group/lun/lun_$3/disk"
  mkdir "$list/lun_$3"
  ln -s "$group/lun/lun_$3" "$list/lun_$3/map"
}

lio_unmap() {
  local group=$lio/iscsi/$1/tpgt_1
  local list=$group/acls/$2
  rm "$list/lun_$3/map"
  rmdir "$list/lun_$3"
  rm "$group/lun/lun_$3/disk"
  rmdir "$group/lun/lun_$3"
}

# Names and secrets of an initiator, and of the target for it. Arguments: target, initiator, user, secret, user, secret.
lio_chap() {
  local list=$lio/iscsi/$1/tpgt_1/acls/$2
  mkdir -p "$list"
  printf %s "$3" >"$list/auth/userid"
  printf %s "$4" >"$list/auth/password"
  printf %s "$5" >"$list/auth/userid_mutual"
  printf %s "$6" >"$list/auth/password_mutual"
}
