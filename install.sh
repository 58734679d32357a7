#!/bin/sh
# Installs imagelint: downloads the program of a release for this system, verifies it, and puts it into a folder.
#
#   curl -LsSf https://github.com/imagelint/imagelint/releases/latest/download/install.sh | sh
#   sh install.sh [--to FOLDER] [--source-digest DIGEST]
#
# It verifies the checksum of every file. It verifies the signature of the checksums if cosign is installed, and the
# attestation of the archive if gh is installed and GH_TOKEN is set. It installs nothing if a check fails.
#
# --to FOLDER             where the program goes [~/.local/bin]; also IMAGELINT_INSTALL_DIR
# --source-digest DIGEST  install only a program that was built from this source (packaging/source-digest)
#
# IMAGELINT_VERSION       the release to install, or "latest"
# IMAGELINT_DOWNLOAD_URL  a folder with the files of a release, for mirrors
# IMAGELINT_SHA256        the only checksum of the archive to accept
#
# Exit codes: 0 installed, 1 failed, 2 wrong usage, 3 no program for this system or this source.
set -eu

version=${IMAGELINT_VERSION:-0.1.0}
repository=https://github.com/imagelint/imagelint

say() { printf 'imagelint install: %s\n' "$*" >&2; }
fail() {
    say "error: $1"
    exit "${2:-1}"
}
has() { command -v "$1" >/dev/null 2>&1; }
need() { has "$1" || fail "$1 not found; install $1 and try again"; }

# The target of this system, as Rust names it.
detect_target() {
    system=$(uname -s)
    machine=$(uname -m)
    case $machine in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "no program for the CPU architecture $machine; build from source: cargo install --locked --git $repository" 3 ;;
    esac
    case $system in
        Linux) target=$machine-unknown-linux-musl ;;
        Darwin) target=$machine-apple-darwin ;;
        MINGW* | MSYS* | CYGWIN*) target=$machine-pc-windows-msvc ;;
        *) fail "no program for the operating system $system; build from source: cargo install --locked --git $repository" 3 ;;
    esac
    program=imagelint
    archive=imagelint-$target.tar.gz
    case $target in
        *windows*)
            program=imagelint.exe
            archive=imagelint-$target.zip
            ;;
    esac
}

# download NAME: a file of the release, into the temporary folder.
download() {
    if has curl; then
        # The address is https, or on this machine.
        curl --fail --silent --show-error --location --proto '=https,http' --proto-redir '=https' --connect-timeout 10 \
            --retry 2 --output "$place/$1" "$from/$1"
    else
        wget -q -O "$place/$1" "$from/$1"
    fi
}

sha256() {
    if has sha256sum; then
        sha256sum "$1"
    elif has shasum; then
        shasum -a 256 "$1"
    else
        openssl dgst -sha256 -r "$1"
    fi | cut -d ' ' -f 1
}

# verify NAME: a downloaded file has the checksum that SHA256SUMS lists.
verify() {
    expected=$(awk -v name="$1" '$2 == name || $2 == "*" name { print $1; exit }' "$place/SHA256SUMS")
    [ -n "$expected" ] || fail "the release has no checksum for $1; nothing was installed"
    found=$(sha256 "$place/$1")
    [ "$found" = "$expected" ] || fail "$1 is damaged: its SHA-256 is $found, expected $expected; nothing was installed, try again"
}

# Who made the checksums. A missing tool is reported, a failed check ends the installation.
verify_origin() {
    workflow=$repository/.github/workflows/release.yml
    checked=
    if has cosign; then
        download SHA256SUMS.sigstore.json || fail "cannot download the signature from $from; nothing was installed"
        # A name that no tag can have in part: the tag of this version, or any if the version is open.
        case $version in
            latest) set -- --certificate-identity-regexp "^$workflow@refs/tags/v[0-9.]+\$" ;;
            *) set -- --certificate-identity "$workflow@refs/tags/v$version" ;;
        esac
        cosign verify-blob --new-bundle-format --bundle "$place/SHA256SUMS.sigstore.json" "$@" \
            --certificate-oidc-issuer https://token.actions.githubusercontent.com "$place/SHA256SUMS" >"$place/cosign.txt" 2>&1 \
            || { cat "$place/cosign.txt" >&2; fail "the signature of the checksums is not valid; nothing was installed"; }
        checked=signature
    fi
    if has gh && [ -n "${GH_TOKEN:-}" ]; then
        slug=${repository#https://github.com/}
        gh attestation verify "$place/$archive" --repo "$slug" --signer-workflow "$slug/.github/workflows/release.yml" \
            >"$place/gh.txt" 2>&1 \
            || { cat "$place/gh.txt" >&2; fail "$archive has no valid attestation; nothing was installed"; }
        checked=${checked:+$checked, }attestation
    fi
    if [ -z "$checked" ]; then
        say "checksum verified; the signature was not checked, because cosign is not installed"
    else
        say "verified: checksum, $checked"
    fi
}

unpack() {
    case $archive in
        *.zip) need unzip && unzip -q "$place/$archive" -d "$place/files" ;;
        *) need tar && mkdir "$place/files" && gzip -dc "$place/$archive" | tar -xf - -C "$place/files" ;;
    esac || fail "cannot unpack $archive; nothing was installed"
    new=$place/files/imagelint-$target/$program
    [ -f "$new" ] || fail "$archive has no $program; nothing was installed"
    chmod 755 "$new"
    started=$("$new" --version 2>&1) || fail "the program does not start on this system: $started"
}

install_program() {
    mkdir -p "$folder" 2>/dev/null || fail "cannot create $folder; choose another folder with --to"
    [ -w "$folder" ] || fail "cannot write to $folder; choose another folder with --to"
    # A program that runs is replaced, never overwritten.
    if ! { cp "$new" "$folder/.$program.$$" && mv -f "$folder/.$program.$$" "$folder/$program"; }; then
        rm -f "$folder/.$program.$$"
        fail "cannot write $folder/$program; choose another folder with --to"
    fi
    say "installed $started as $folder/$program"
    case :$PATH: in
        *:"$folder":*) ;;
        *) say "add it to your PATH: export PATH=\"$folder:\$PATH\"" ;;
    esac
}

main() {
    folder=${IMAGELINT_INSTALL_DIR:-}
    source_digest=
    while [ $# -gt 0 ]; do
        case $1 in
            --to | --source-digest)
                [ $# -gt 1 ] || fail "$1 needs a value" 2
                if [ "$1" = --to ]; then folder=$2; else source_digest=$2; fi
                shift 2
                ;;
            *) fail "unknown option $1; use: install.sh [--to FOLDER] [--source-digest DIGEST]" 2 ;;
        esac
    done
    if [ -z "$folder" ]; then
        [ -n "${HOME:-}" ] || fail "HOME is not set; choose a folder with --to" 2
        folder=$HOME/.local/bin
    fi
    case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
    case $version in
        latest) from=$repository/releases/latest/download ;;
        *) from=$repository/releases/download/v${version#v} version=${version#v} ;;
    esac
    from=${IMAGELINT_DOWNLOAD_URL:-$from}
    from=${from%/}
    case $from in
        *@*) fail "IMAGELINT_DOWNLOAD_URL must not contain a login" 2 ;;
        https://* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
        *) fail "IMAGELINT_DOWNLOAD_URL must start with https://" 2 ;;
    esac

    for tool in uname mktemp awk cut gzip; do need "$tool"; done
    has curl || has wget || fail "neither curl nor wget found; install one of them and try again"
    has sha256sum || has shasum || has openssl || fail "none of sha256sum, shasum and openssl found; install one of them and try again"
    detect_target
    place=$(mktemp -d)
    trap 'rm -rf "$place"' EXIT
    trap 'exit 1' HUP INT TERM

    download SHA256SUMS || fail "cannot download $from/SHA256SUMS; check the version, the address and the network"
    if [ -n "$source_digest" ]; then
        download source-digest.txt || fail "cannot download $from/source-digest.txt"
        verify source-digest.txt
        [ "$(cat "$place/source-digest.txt")" = "$source_digest" ] \
            || fail "release $version was built from another source than this one" 3
    fi
    grep -q "[ *]$archive\$" "$place/SHA256SUMS" \
        || fail "release $version has no program for $target; build from source: cargo install --locked --git $repository" 3
    download "$archive" || fail "cannot download $from/$archive; check the network and try again"
    if [ -n "${IMAGELINT_SHA256:-}" ] && [ "$(sha256 "$place/$archive")" != "$IMAGELINT_SHA256" ]; then
        fail "$archive does not have the checksum of IMAGELINT_SHA256; nothing was installed"
    fi
    verify "$archive"
    verify_origin
    unpack
    install_program
}

# At the end, so that half of a script does nothing.
main "$@"
