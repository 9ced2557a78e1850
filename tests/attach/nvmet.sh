# An NVMe/TCP subsystem in the kernel (nvmet), driven by its file tree as an array is by its interface. Sourced by walks.
nvmet=/sys/kernel/config/nvmet

# Namespaces are told apart by the last digits of their UUID.
identity_of() { printf 'uuid.aaaaaaaa-0000-0000-0000-%012x' "$1"; }

nvmet_start() {
  modprobe -a loop nvmet nvmet-tcp nvme-tcp
  mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
}

# A subsystem for one host. Arguments: its name, the host's.
nvmet_subsystem() {
  mkdir "$nvmet/subsystems/$1" "$nvmet/hosts/$2"
  ln -s "$nvmet/hosts/$2" "$nvmet/subsystems/$1/allowed_hosts/"
}

# A port with an address, and all that is there. Arguments: number, address, subsystem.
nvmet_port() {
  local port=$nvmet/ports/$1
  mkdir "$port"
  echo tcp >"$port/addr_trtype"
  echo ipv4 >"$port/addr_adrfam"
  echo "$2" >"$port/addr_traddr"
  echo 4420 >"$port/addr_trsvcid"
  ln -s "$nvmet/subsystems/$3" "$port/subsystems/"
}

# A namespace at a number. Arguments: subsystem, number, device, the number of its identity.
nvmet_map() {
  local namespace=$nvmet/subsystems/$1/namespaces/$2 uuid
  uuid=$(identity_of "$4")
  mkdir -p "$namespace"
  echo "$3" >"$namespace/device_path"
  echo "${uuid#uuid.}" >"$namespace/device_uuid"
  echo 1 >"$namespace/enable"
}

nvmet_unmap() { echo 0 >"$nvmet/subsystems/$1/namespaces/$2/enable"; }

# After the device below has grown.
nvmet_grown() { echo 1 >"$nvmet/subsystems/$1/namespaces/$2/revalidate_size"; }
