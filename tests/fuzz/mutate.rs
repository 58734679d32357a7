//! A small mutator: bytes, words, pieces of other seeds.

/// Longer inputs are cut.
const LONGEST: usize = 12 * 1024;

/// Pseudo-random numbers, the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound.max(1)
    }

    fn range(&mut self, len: usize, longest: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        start..(start + self.below(longest)).min(len)
    }
}

/// A seed after a few mutations.
pub(crate) fn mutated(random: &mut Random, seeds: &[String], words: &[&str]) -> String {
    const SPICE: &[u8] = b"\\`\"'$${}()<<-|&;\n\n\r\t #=@:/*%+[],?!0aF\0\xff\xef\xbb\xbf";
    let seed = |random: &mut Random| seeds[random.below(seeds.len())].as_bytes().to_vec();
    let mut bytes = seed(random);
    for _ in 0..=random.below(12) {
        let at = random.below(bytes.len() + 1);
        match random.below(8) {
            0 => bytes.insert(at, SPICE[random.below(SPICE.len())]),
            1 if at < bytes.len() => bytes[at] = SPICE[random.below(SPICE.len())],
            2 => drop(bytes.drain(random.range(bytes.len(), 24))),
            3 => {
                let again = bytes[random.range(bytes.len(), 64)].repeat(1 + random.below(6));
                bytes.splice(at..at, again);
            }
            4 => {
                let other = seed(random);
                let piece = other[random.range(other.len(), 200)].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => bytes.truncate(at),
            _ => drop(bytes.splice(at..at, words[random.below(words.len())].bytes())),
        }
    }
    bytes.truncate(LONGEST);
    String::from_utf8_lossy(&bytes).into_owned()
}
