use super::*;

struct Bytes(io::Cursor<Vec<u8>>);

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl Source for Bytes {
    fn pass(&mut self, count: u64) -> io::Result<u64> {
        pass_by_reading(self, count)
    }
}

fn block(name: &str, kind: u8, size: &str, link: &str, body: &[u8]) -> Vec<u8> {
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

fn read(bytes: Vec<u8>) -> Result<BTreeMap<String, Member>, String> {
    index(&mut Bytes(io::Cursor::new(bytes)), |_, _, _| Ok(())).map_err(|error| error.to_string())
}

fn ended(mut blocks: Vec<u8>) -> Vec<u8> {
    blocks.resize(blocks.len() + 1024, 0);
    blocks
}

#[test]
fn files_links_and_long_names_are_found_at_their_places() {
    let long = "a/".repeat(80) + "name";
    let bytes = ended(
        [
            block("./one", b'0', "5", "", b"hello"),
            block("././@LongLink", b'L', "244", "", long.as_bytes()),
            block("short", b'0', "3", "", b"abc"),
            block("x", b'x', "20", "", b"16 path=d/abcde\n"),
            block("y", b'0', "1", "", b"z"),
            block("d/two", b'2', "0", "../one", b""),
            block("d/three", b'1', "0", "./one", b""),
        ]
        .concat(),
    );
    let members = read(bytes).expect("an archive");
    assert_eq!(members["one"], Member::File { at: 512, size: 5 });
    assert_eq!(members[&long], Member::File { at: 2560, size: 3 });
    assert_eq!(members["d/abcde"], Member::File { at: 4608, size: 1 });
    assert_eq!(members["d/two"], Member::Link("one".into()));
    assert_eq!(members["d/three"], Member::Link("one".into()));
}

#[test]
fn every_broken_archive_is_an_error() {
    let whole = block("one", b'0', "5", "", b"hello");
    let mut flipped = ended(whole.clone());
    flipped[0] ^= 1;
    for (name, bytes) in [
        ("empty", vec![]),
        ("text", b"hello".to_vec()),
        ("zeroes", vec![0; 1024]),
        ("flipped", flipped),
        ("cut in a body", whole[..514].to_vec()),
        ("cut in a header", [whole, vec![1; 100]].concat()),
        ("a size that is none", ended(block("one", b'0', "9x", "", b""))),
        ("a header of a gigabyte", ended(block("x", b'L', "10000000000", "", b""))),
        ("a file beyond the end", ended(block("x", b'0', "77777777777", "", b""))),
    ] {
        assert!(read(bytes).is_err(), "{name}");
    }
}
