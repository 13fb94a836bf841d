# Sourced by setup.sh and test.sh: says what is done, and finds or installs what the build needs.

step() {
    echo "== $*"
    "$@"
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

# Each word is command:package; only packages of missing commands are installed.
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
    # The package lists of a fresh machine may be empty or old: they are fetched when the first try fails.
    install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends$missing"
    step $install || { step $as_root apt-get update -qq && step $install; }
}
