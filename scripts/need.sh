# Sourced by setup.sh and test.sh: prints and times each step, and finds or installs what the build needs.

steps=

# step NAME COMMAND...: runs the command and records how long it took.
step() {
    name=$1
    shift
    echo "== $name: $*"
    began=$(date +%s)
    status=0
    "$@" || status=$?
    took=$(($(date +%s) - began))
    steps="$steps$(printf '%5ss  %s' "$took" "$name")
"
    if [ "$status" != 0 ]; then
        echo "error: $name failed after ${took}s: $*" >&2
        print_steps
        exit "$status"
    fi
}

print_steps() {
    printf '\nTime by step\n%s' "$steps"
}

need_rust() {
    # A fresh rustup is not on PATH before the next login.
    PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    command -v cargo >/dev/null || {
        echo "error: cargo is not on PATH" >&2
        echo "help: install Rust 1.95 or newer with rustup (https://rustup.rs), then run this again" >&2
        exit 1
    }
}

# need_packages COMMAND:PACKAGE...: installs the packages whose commands are missing.
need_packages() {
    missing=
    for word in "$@"; do
        command -v "${word%%:*}" >/dev/null || missing="$missing ${word#*:}"
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || {
        echo "error: missing:$missing" >&2
        echo "help: install them with your package manager, then run this again" >&2
        exit 1
    }
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends$missing"
    # The package lists of a fresh machine may be empty or old. Update them only when the first try fails.
    if ! $install; then
        step "update package lists" $as_root apt-get update -qq
        step "install packages" $install
    fi
}
