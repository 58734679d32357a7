//! ELF files and fat binaries written byte by byte.

/// Flag of an entry: code for one capability alone.
pub(crate) const ARCHITECTURE_SPECIFIC: u64 = 1 << 20;
/// Flag of an entry: code for a family.
pub(crate) const FAMILY_SPECIFIC: u64 = 1 << 21;
/// Bytes of payload of an entry.
pub(crate) const PAYLOAD: usize = 240;
/// What addresses are above offsets, so that a reader has to look at the program headers.
const LOADED_AT: u64 = 0x40_0000;

/// An entry of a fat binary.
#[derive(Clone)]
pub(crate) struct Entry {
    /// 1 for PTX, 2 for a cubin.
    pub(crate) kind: u16,
    /// 80 for 8.0.
    pub(crate) number: u32,
    /// Letter of the target.
    pub(crate) flags: u64,
    /// Major and minor of the PTX language.
    pub(crate) isa: (u16, u16),
    /// Bytes of payload.
    pub(crate) payload: usize,
    /// More bytes of header, for options.
    pub(crate) options: usize,
}

/// A cubin: `sass(90, 'a')`, `' '` for plain.
pub(crate) fn sass(number: u32, suffix: char) -> Entry {
    let flags = match suffix {
        'a' => ARCHITECTURE_SPECIFIC,
        'f' => FAMILY_SPECIFIC,
        _ => 0,
    };
    Entry { kind: 2, number, flags, isa: (1, 7), payload: PAYLOAD, options: 0 }
}

/// PTX: `ptx(90, (8, 4))`.
pub(crate) fn ptx(number: u32, isa: (u16, u16)) -> Entry {
    Entry { kind: 1, isa, options: 40, ..sass(number, ' ') }
}

fn padded(bytes: &mut Vec<u8>, step: usize) {
    bytes.resize(bytes.len().next_multiple_of(step), 0);
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).expect("a length")
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn head(entry: &Entry) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    put(&mut bytes, 0, &entry.kind.to_le_bytes());
    put(&mut bytes, 2, &0x0101_u16.to_le_bytes());
    put(&mut bytes, 24, &entry.isa.1.to_le_bytes());
    put(&mut bytes, 26, &entry.isa.0.to_le_bytes());
    put(&mut bytes, 28, &entry.number.to_le_bytes());
    put(&mut bytes, 40, &(entry.flags | 0x11).to_le_bytes());
    bytes
}

/// One container with these entries.
pub(crate) fn container(entries: &[Entry]) -> Vec<u8> {
    let bodies = entries.iter().map(|entry| {
        let mut bytes = head(entry);
        bytes.resize(64 + entry.options, b'-');
        padded(&mut bytes, 8);
        let size = u32::try_from(bytes.len()).expect("a header");
        put(&mut bytes, 4, &size.to_le_bytes());
        put(&mut bytes, 8, &wide(entry.payload.next_multiple_of(8)).to_le_bytes());
        // Payloads have bytes of any value, and what looks like a container.
        bytes.extend((0..entry.payload).map(|index| b"\x50\xed\x55\xba\x01\0\x10\0.so\0\x07fatbin\0"[index % 20]));
        padded(&mut bytes, 8);
        bytes
    });
    wrapped(&bodies.flatten().collect::<Vec<u8>>())
}

/// A container with one group of images, as `nvcc --concat` writes it.
pub(crate) fn group(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = head(&Entry { kind: 0x100, number: 0, flags: 0, isa: (0, 0), payload: 0, options: 0 });
    put(&mut bytes, 20, &64_u32.to_le_bytes());
    bytes.extend(u32::try_from(entries.len()).expect("few").to_le_bytes());
    bytes.extend([0; 4]);
    for entry in entries {
        let mut one = head(entry);
        if entry.options > 0 {
            put(&mut one, 20, &64_u32.to_le_bytes());
            one.extend(72_u32.to_le_bytes());
            one.extend(u32::try_from(entry.options).expect("short").to_le_bytes());
            one.resize(72 + entry.options + 1, b'-');
            padded(&mut one, 8);
        }
        bytes.extend(one);
    }
    let size = u32::try_from(bytes.len()).expect("a header");
    put(&mut bytes, 4, &size.to_le_bytes());
    put(&mut bytes, 8, &512_u64.to_le_bytes());
    bytes.extend([0xa5; 512]);
    wrapped(&bytes)
}

/// The header of a container around entries.
pub(crate) fn wrapped(entries: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x50\xed\x55\xba\x01\0\x10\0".to_vec();
    bytes.extend(wide(entries.len()).to_le_bytes());
    bytes.extend(entries);
    bytes
}

/// A note of a compat library, padded to an alignment.
pub(crate) fn note(owner: &str, text: &str, align: usize) -> Vec<u8> {
    let mut name = owner.as_bytes().to_vec();
    name.push(0);
    let mut bytes = u32::try_from(name.len()).expect("short").to_le_bytes().to_vec();
    bytes.extend(u32::try_from(text.len()).expect("short").to_le_bytes());
    bytes.extend([0; 4]);
    padded(&mut name, align);
    bytes.extend(name);
    bytes.extend(text.as_bytes());
    padded(&mut bytes, align);
    bytes
}

/// A section with its bytes.
#[derive(Clone)]
pub(crate) struct Section {
    /// Name.
    pub(crate) name: &'static str,
    /// `sh_type`.
    pub(crate) kind: u32,
    /// `sh_addralign`, which its place is a multiple of.
    pub(crate) align: u64,
    /// Bytes.
    pub(crate) bytes: Vec<u8>,
}

/// Where program headers are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Programs {
    /// There are none.
    Nowhere,
    /// Behind the ELF header.
    Early,
    /// After all sections, as a file from BOLT has them.
    Late,
}

/// An ELF file to be made.
#[derive(Clone)]
pub(crate) struct Elf {
    /// `e_machine`.
    pub(crate) machine: u16,
    /// `DT_NEEDED`, as strings of the string table.
    pub(crate) needed: Vec<&'static str>,
    /// `DT_SONAME`.
    pub(crate) soname: Option<&'static str>,
    /// `DT_RUNPATH`.
    pub(crate) runpath: Option<&'static str>,
    /// Whether the dynamic section comes before its strings, as a patched file has it.
    pub(crate) dynamic_first: bool,
    /// Where the program headers are.
    pub(crate) programs: Programs,
    /// Whether there is a section table.
    pub(crate) sections: bool,
    /// Sections between the strings and the end.
    pub(crate) with: Vec<Section>,
}

impl Default for Elf {
    fn default() -> Self {
        Self {
            machine: 62,
            needed: Vec::new(),
            soname: None,
            runpath: None,
            dynamic_first: false,
            programs: Programs::Early,
            sections: true,
            with: Vec::new(),
        }
    }
}

impl Elf {
    /// With a section more.
    pub(crate) fn with(mut self, name: &'static str, kind: u32, align: u64, bytes: Vec<u8>) -> Self {
        self.with.push(Section { name, kind, align, bytes });
        self
    }

    /// With containers that are registered.
    pub(crate) fn registered(self, containers: &[Vec<u8>]) -> Self {
        self.with(".nv_fatbin", 1, 8, containers.concat())
    }

    /// With containers of relocatable code.
    pub(crate) fn relocatable(self, containers: &[Vec<u8>]) -> Self {
        self.with("__nv_relfatbin", 1, 8, containers.concat())
    }

    /// With a compat note.
    pub(crate) fn noted(self, bytes: Vec<u8>, align: u64) -> Self {
        self.with(".note.cuda.fwd_compatibility", 7, align, bytes)
    }

    /// The strings of the dynamic section, with the offset of each; a name that ends another is a part of it.
    fn strings(&self) -> (Vec<u8>, Vec<(u64, u64)>) {
        let mut table = b"\0_ZN5torch4cuda\0".to_vec();
        let names = self.needed.iter().map(|name| (1, *name)).chain(self.soname.map(|name| (14, name)));
        let mut tags = Vec::new();
        for (tag, name) in names.chain(self.runpath.map(|path| (29, path))) {
            let ended = [name.as_bytes(), b"\0"].concat();
            let at = table.windows(ended.len()).position(|window| window == ended).unwrap_or_else(|| {
                table.extend(&ended);
                table.len() - ended.len()
            });
            tags.push((tag, wide(at)));
        }
        (table, tags)
    }

    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (strings, tags) = self.strings();
        let dynamic_size = (tags.len() + 4) * 16;
        let mut sections = vec![Section { name: ".dynstr", kind: 3, align: 1, bytes: strings.clone() }];
        sections.extend(self.with.clone());
        sections.push(Section { name: ".dynamic", kind: 6, align: 8, bytes: vec![0; dynamic_size] });
        if self.dynamic_first {
            sections.reverse();
        }
        let names: Vec<&str> = sections.iter().map(|section| section.name).chain([".shstrtab"]).collect();
        let table = names.iter().fold(vec![0_u8], |all, name| [&all, name.as_bytes(), b"\0"].concat());
        sections.push(Section { name: ".shstrtab", kind: 3, align: 1, bytes: table });

        let mut file = vec![0; 64 + 2 * 56];
        let mut places = Vec::new();
        for section in &sections {
            padded(&mut file, usize::try_from(section.align).expect("small").max(1));
            places.push(wide(file.len()));
            file.extend(&section.bytes);
        }
        padded(&mut file, 8);
        let place = |name: &str| places[sections.iter().position(|section| section.name == name).expect(name)];

        let (dynamic, strings_at) = (place(".dynamic"), place(".dynstr"));
        let fixed = [(5, LOADED_AT + strings_at), (10, wide(strings.len())), (0x6fff_fffe, 0), (0, 0)];
        let entries = tags.iter().copied().chain(fixed);
        let entries: Vec<u8> =
            entries.flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()]).flatten().collect();
        put(&mut file, usize::try_from(dynamic).expect("small"), &entries);

        if self.programs == Programs::Late {
            file.extend([0; 2 * 56]);
        }
        let table_at = wide(file.len());
        self.head(&mut file, table_at, names.len(), (dynamic, wide(dynamic_size)));
        if self.sections {
            file.extend([0; 64]);
            let mut name_at = 1_u32;
            for (section, at) in sections.iter().zip(&places) {
                let mut entry = vec![0; 64];
                put(&mut entry, 0, &name_at.to_le_bytes());
                put(&mut entry, 4, &section.kind.to_le_bytes());
                put(&mut entry, 24, &at.to_le_bytes());
                put(&mut entry, 32, &wide(section.bytes.len()).to_le_bytes());
                put(&mut entry, 48, &section.align.to_le_bytes());
                file.extend(entry);
                name_at += u32::try_from(section.name.len()).expect("short") + 1;
            }
        }
        file
    }

    /// Puts ELF header and program headers in their place.
    fn head(&self, file: &mut [u8], table_at: u64, sections: usize, dynamic: (u64, u64)) {
        put(file, 0, b"\x7fELF\x02\x01\x01");
        put(file, 16, &3_u16.to_le_bytes());
        put(file, 18, &self.machine.to_le_bytes());
        put(file, 20, &1_u32.to_le_bytes());
        put(file, 52, &64_u16.to_le_bytes());
        if self.programs != Programs::Nowhere {
            let programs = if self.programs == Programs::Late { file.len() - 2 * 56 } else { 64 };
            put(file, 32, &wide(programs).to_le_bytes());
            put(file, 54, &56_u16.to_le_bytes());
            put(file, 56, &2_u16.to_le_bytes());
            for (at, kind, offset, size) in [(programs, 1_u32, 0, table_at), (programs + 56, 2, dynamic.0, dynamic.1)] {
                put(file, at, &kind.to_le_bytes());
                put(file, at + 8, &offset.to_le_bytes());
                put(file, at + 16, &(LOADED_AT + offset).to_le_bytes());
                put(file, at + 32, &size.to_le_bytes());
            }
        }
        if self.sections {
            let count = u16::try_from(sections + 1).expect("few");
            put(file, 40, &table_at.to_le_bytes());
            put(file, 58, &64_u16.to_le_bytes());
            put(file, 60, &count.to_le_bytes());
            put(file, 62, &(count - 1).to_le_bytes());
        }
    }
}
