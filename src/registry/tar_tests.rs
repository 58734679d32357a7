use super::*;

/// A tar archive in memory.
struct TarBytes(io::Cursor<Vec<u8>>);

impl Read for TarBytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl SkippableReader for TarBytes {
    fn skip_bytes(&mut self, count: u64) -> io::Result<u64> {
        skip_by_reading(self, count)
    }
}

/// Encodes a member with its header and its padded body.
fn tar_member(name: &str, kind: u8, size: &str, link: &str, body: &[u8]) -> Vec<u8> {
    let mut header = vec![0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..124 + size.len()].copy_from_slice(size.as_bytes());
    header[156] = kind;
    header[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header.extend_from_slice(body);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

/// Indexes a tar archive in memory.
fn index_bytes(bytes: Vec<u8>) -> Result<BTreeMap<String, TarMember>, String> {
    index_tar(&mut TarBytes(io::Cursor::new(bytes)), |_, _, _| Ok(())).map_err(|error| error.to_string())
}

/// Appends the end marker of a tar archive.
fn with_end_marker(mut blocks: Vec<u8>) -> Vec<u8> {
    blocks.resize(blocks.len() + 1024, 0);
    blocks
}

#[test]
fn files_links_and_long_names_are_indexed() {
    let long = "a/".repeat(80) + "name";
    let bytes = with_end_marker(
        [
            tar_member("./one", b'0', "5", "", b"hello"),
            tar_member("././@LongLink", b'L', "244", "", long.as_bytes()),
            tar_member("short", b'0', "3", "", b"abc"),
            tar_member("x", b'x', "20", "", b"16 path=d/abcde\n"),
            tar_member("y", b'0', "1", "", b"z"),
            tar_member("d/two", b'2', "0", "../one", b""),
            tar_member("d/three", b'1', "0", "./one", b""),
        ]
        .concat(),
    );
    let members = index_bytes(bytes).expect("an archive");
    assert_eq!(members["one"], TarMember::File { at: 512, size: 5 });
    assert_eq!(members[&long], TarMember::File { at: 2560, size: 3 });
    assert_eq!(members["d/abcde"], TarMember::File { at: 4608, size: 1 });
    assert_eq!(members["d/two"], TarMember::Link("one".into()));
    assert_eq!(members["d/three"], TarMember::Link("one".into()));
}

#[test]
fn every_broken_archive_is_an_error() {
    let whole = tar_member("one", b'0', "5", "", b"hello");
    let mut flipped = with_end_marker(whole.clone());
    flipped[0] ^= 1;
    for (name, bytes) in [
        ("empty", vec![]),
        ("text", b"hello".to_vec()),
        ("zeroes", vec![0; 1024]),
        ("flipped", flipped),
        ("cut in a body", whole[..514].to_vec()),
        ("cut in a header", [whole, vec![1; 100]].concat()),
        ("a size that is none", with_end_marker(tar_member("one", b'0', "9x", "", b""))),
        ("a header of a gigabyte", with_end_marker(tar_member("x", b'L', "10000000000", "", b""))),
        ("a file beyond the end", with_end_marker(tar_member("x", b'0', "77777777777", "", b""))),
    ] {
        assert!(index_bytes(bytes).is_err(), "{name}");
    }
}
