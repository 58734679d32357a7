//! The reader of ELF files, on files made bit by bit: sound ones, odd ones and hostile ones.

use std::time::{Duration, Instant};

use imagelint::cuda::CodeTarget;
use imagelint::layer::elf::{
    CodeContainers, CodeSection, ElfReader, ElfSummary, FatbinContents, MAX_READER_MEMORY, Ptx, UninspectedElfPart,
};
use make::{Elf, Entry, Programs, container, group, note, ptx, sass, wrapped};

use crate::support::elf as make;

const COMPAT: &str = r#"{"format":1,"CUDA version":"12.9","driver":[535,550],"device":[1,2,7]}"#;

fn size(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("a length")
}

fn fed<'a>(total: u64, pieces: impl IntoIterator<Item = &'a [u8]>) -> ElfSummary {
    let mut reader = ElfReader::new(total);
    for piece in pieces {
        reader.feed(piece);
        assert!(reader.memory_usage() <= MAX_READER_MEMORY, "holds {}", reader.memory_usage());
    }
    reader.finish()
}

/// What is seen of a file, which is the same however it is cut.
fn seen(bytes: &[u8]) -> ElfSummary {
    let whole = fed(size(bytes), [bytes]);
    for piece in [1, 7, 64, 511, 4_096, 65_536] {
        assert_eq!(fed(size(bytes), bytes.chunks(piece)), whole, "in pieces of {piece}");
    }
    whole
}

fn targets(list: &[&str]) -> Vec<CodeTarget> {
    list.iter().map(|text| text.parse().expect("a target")).collect()
}

fn cubins(place: CodeSection, count: u32, list: &[&str]) -> CodeContainers {
    CodeContainers { place, count, holds: FatbinContents { sass: targets(list), ..FatbinContents::default() } }
}

fn library() -> Elf {
    Elf {
        needed: vec!["libcudart.so.12", "libcublas.so.12", "libc.so.6"],
        soname: Some("libtorch_cuda.so"),
        runpath: Some("$ORIGIN/../../nvidia/cublas/lib:$ORIGIN"),
        ..Elf::default()
    }
}

#[test]
fn elf_reader_finds_names_gpu_code_and_note() {
    let both = container(&[sass(90, ' '), sass(90, 'a'), sass(103, 'f'), ptx(90, (8, 4))]);
    let plain = container(&[sass(80, ' '), sass(75, ' ')]);
    let linked = container(&[sass(80, ' '), ptx(80, (7, 8))]);
    for dynamic_first in [false, true] {
        let file = Elf { dynamic_first, ..library() }
            .noted(note("NVIDIA Corporation", COMPAT, 4), 4)
            .relocatable(&[linked.clone(), linked.clone()])
            .registered(&[plain.clone(), both.clone(), plain.clone()]);
        let found = seen(&file.bytes());
        assert_eq!((found.machine, found.kind), (62, 3));
        assert_eq!(found.soname.as_deref(), Some("libtorch_cuda.so"));
        assert_eq!(found.needed, library().needed);
        assert_eq!(found.runpath.as_deref(), library().runpath);
        assert_eq!(found.rpath, None);
        let told = found.note.as_ref().expect("a note");
        assert_eq!(
            (told.cuda.map(|cuda| cuda.to_string()), told.driver.as_slice()),
            (Some("12.9".to_owned()), &[535, 550][..])
        );
        let with_ptx = |place, count, sass: &[&str], target: &str, isa| {
            let ptx = vec![Ptx { target: target.parse().expect("a target"), isa }];
            CodeContainers { place, count, holds: FatbinContents { sass: targets(sass), ptx, lto: Vec::new() } }
        };
        let expected = vec![
            cubins(CodeSection::Registered, 2, &["75", "80"]),
            with_ptx(CodeSection::Registered, 1, &["90", "90a", "103f"], "90", (8, 4)),
            with_ptx(CodeSection::Relocatable, 2, &["80"], "80", (7, 8)),
        ];
        assert_eq!(found.code, expected);
        assert_eq!(found.not_inspected, []);
        assert!(found.has_complete_code());
        let text = serde_json::to_string(&found).expect("JSON");
        assert_eq!(serde_json::from_str::<ElfSummary>(&text).expect("what was written"), found);
    }
    assert_eq!(ptx(90, (8, 4)).isa, (8, 4));
    let isa = Ptx { target: CodeTarget::constant(9, 0, ' '), isa: (8, 4) }.isa_version();
    assert_eq!(isa.map(|version| version.to_string()).as_deref(), Some("8.4"));
}

#[test]
fn a_name_may_be_the_end_of_another() {
    let file = Elf { needed: vec!["libtorch_cuda.so.1", "cuda.so.1"], soname: Some("so.1"), ..Elf::default() };
    for dynamic_first in [false, true] {
        let found = seen(&Elf { dynamic_first, ..file.clone() }.bytes());
        assert_eq!(found.needed, ["libtorch_cuda.so.1", "cuda.so.1"]);
        assert_eq!(found.soname.as_deref(), Some("so.1"), "{dynamic_first}");
    }
}

#[test]
fn omitted_library_names_are_reported_and_not_guessed() {
    let long: &'static str = String::leak("x".repeat(400) + ".so");
    for dynamic_first in [false, true] {
        let file = Elf { needed: vec!["libc.so.6", long], soname: Some(long), dynamic_first, ..Elf::default() };
        let found = seen(&file.bytes());
        assert_eq!((found.soname, found.needed), (None, vec!["libc.so.6".to_owned()]));
        assert_eq!(found.not_inspected, [UninspectedElfPart::Soname, UninspectedElfPart::Needed]);
    }
    // Nothing in it says that it is a name, until the strings have passed.
    let found = seen(&Elf { needed: vec!["plain"], ..Elf::default() }.bytes());
    assert_eq!((found.needed, found.not_inspected), (Vec::new(), vec![UninspectedElfPart::Needed]));
    let found = seen(&Elf { needed: vec!["plain"], dynamic_first: true, ..Elf::default() }.bytes());
    assert_eq!((found.needed, found.not_inspected), (vec!["plain".to_owned()], Vec::new()));
}

#[test]
fn zeros_between_containers_are_no_end() {
    let one = container(&[sass(90, ' ')]);
    let zeros = |count: usize| vec![0; count];
    let parts = [one.clone(), zeros(136), one.clone(), zeros(70_000), one.clone(), zeros(64)];
    let found = seen(&Elf { machine: 183, ..Elf::default() }.registered(&parts).bytes());
    assert_eq!(found.code, [cubins(CodeSection::Registered, 3, &["90"])]);
    assert!(found.has_complete_code(), "{:?}", found.not_inspected);
}

#[test]
fn an_empty_fat_binary_is_valid() {
    let found = seen(&Elf::default().registered(&[wrapped(&[]), container(&[sass(70, ' ')]), wrapped(&[])]).bytes());
    assert_eq!(found.code, [cubins(CodeSection::Registered, 2, &[]), cubins(CodeSection::Registered, 1, &["70"])]);
    assert!(found.has_complete_code());
}

#[test]
fn late_program_headers_are_read() {
    for dynamic_first in [false, true] {
        let file = Elf { dynamic_first, programs: Programs::Late, ..library() }.with(".rodata", 1, 8, vec![1; 40_000]);
        let found = seen(&file.bytes());
        assert_eq!((found.soname.as_deref(), found.needed.len()), (library().soname, 3), "{dynamic_first}");
        assert_eq!(found.not_inspected, []);
        // One that has passed long ago is kept up to a length.
        let long = Elf { needed: vec!["libc.so.6"; 100], ..file.clone() };
        let found = seen(&long.bytes());
        let expected = if dynamic_first { (0, vec![UninspectedElfPart::Dynamic]) } else { (100, Vec::new()) };
        assert_eq!((found.needed.len(), found.not_inspected), expected, "{dynamic_first}");
    }
}

#[test]
fn gpu_code_of_all_images_in_a_group_is_read() {
    let list = [sass(80, ' '), sass(90, 'a'), ptx(120, (9, 5)), sass(100, 'f')];
    let found = seen(&Elf::default().registered(&[group(&list)]).bytes());
    let [only] = found.code.as_slice() else { panic!("{:?}", found.code) };
    assert_eq!(only.holds.sass, targets(&["80", "90a", "100f"]));
    assert_eq!(only.holds.ptx, [Ptx { target: CodeTarget::constant(12, 0, ' '), isa: (9, 5) }]);
    assert!(found.has_complete_code());
}

#[test]
fn the_header_of_a_linked_cubin_may_be_long() {
    for (options, whole) in [(16 * 1024, true), (32_544, true), (1024 * 1024, false)] {
        let list = [sass(60, ' '), Entry { options, ..sass(70, ' ') }, ptx(70, (6, 4))];
        let found = seen(&Elf::default().registered(&[container(&list)]).bytes());
        assert_eq!(found.has_complete_code(), whole, "{options}");
        assert_eq!(found.uninspected_code_part(), (!whole).then_some(UninspectedElfPart::Code), "{options}");
        let images: usize = found.code.iter().map(|one| one.holds.sass.len() + one.holds.ptx.len()).sum();
        assert_eq!(images, if whole { 3 } else { 0 }, "{options}");
    }
}

#[test]
fn a_search_path_may_have_the_origin_in_braces() {
    let word = b"ORIGINAL and IN_ORIGIN are no search paths\0".repeat(400);
    for runpath in ["${ORIGIN}", "${ORIGIN}/../own:/opt/x", "$ORIGIN/../own", "/opt:${ORIGIN}"] {
        for dynamic_first in [false, true] {
            let file = Elf { runpath: Some(runpath), dynamic_first, ..library() };
            let found = seen(&file.clone().bytes());
            assert_eq!((found.runpath.as_deref(), found.not_inspected), (Some(runpath), Vec::new()), "{runpath}");
            let found = seen(&file.with(".rodata", 1, 8, word.clone()).bytes());
            assert_eq!(found.runpath.as_deref(), Some(runpath), "{runpath} {dynamic_first}");
        }
    }
}

#[test]
fn entries_of_unknown_kind_are_counted() {
    let odd = [
        Entry { kind: 4, ..sass(80, ' ') },
        sass(80, ' '),
        Entry { flags: make::ARCHITECTURE_SPECIFIC | make::FAMILY_SPECIFIC, ..sass(90, ' ') },
        Entry { number: 0, ..sass(0, ' ') },
        Entry { number: u32::MAX, ..sass(0, ' ') },
    ];
    let found = seen(&Elf::default().registered(&[container(&odd)]).bytes());
    assert_eq!(found.code, [cubins(CodeSection::Registered, 1, &["80"])]);
    assert_eq!(found.unknown_entries, 4);
    assert!(!found.has_complete_code());
    // A group that says it has more than there is.
    let mut bytes = group(&[sass(80, ' ')]);
    bytes[16 + 64] = 200;
    let found = seen(&Elf::default().registered(&[bytes]).bytes());
    assert_eq!(found.unknown_entries, 1);
}

#[test]
fn intermediate_code_is_no_code_for_a_gpu() {
    let found = seen(&Elf::default().registered(&[container(&[Entry { kind: 8, ..sass(89, ' ') }])]).bytes());
    let [only] = found.code.as_slice() else { panic!("{:?}", found.code) };
    assert_eq!((&only.holds.lto, only.holds.sass.len(), only.holds.ptx.len()), (&targets(&["89"]), 0, 0));
}

#[test]
fn without_sections_no_place_is_claimed() {
    let code = [container(&[sass(90, ' ')])];
    let found = seen(&Elf { sections: false, ..library() }.registered(&code).bytes());
    assert_eq!(found.code, [cubins(CodeSection::Unknown, 1, &["90"])]);
    assert_eq!(found.needed.len(), 3);
    assert!(!found.has_complete_code());
    let found = seen(&Elf::default().with(".rodata", 1, 8, code.concat()).bytes());
    assert_eq!(found.code, [cubins(CodeSection::Elsewhere, 1, &["90"])]);
    assert!(found.has_complete_code());
}

#[test]
fn invalid_fatbin_containers_are_ignored() {
    let sound = container(&[sass(90, ' ')]);
    let changed = |at: usize, value: u8| {
        let mut bytes = sound.clone();
        bytes[at] = value;
        bytes
    };
    for (what, bytes) in [
        ("magic alone", b"\x50\xed\x55\xba".repeat(100)),
        ("version", changed(4, 2)),
        ("header of 15", changed(6, 15)),
        ("header of 72", changed(6, 72)),
        ("longer than the file", changed(12, 1)),
        ("size for no entry", changed(9, 0)),
        ("version of the entry", changed(18, 2)),
        ("header of the entry", changed(20, 65)),
        ("payload of the entry", changed(24, 1)),
        ("payload beyond the container", changed(28, 1)),
        ("no multiple of eight", [b"1234".to_vec(), sound.clone()].concat()),
    ] {
        let found = seen(&Elf::default().with(".rodata", 1, 8, bytes.clone()).bytes());
        assert_eq!((found.code, found.not_inspected), (Vec::new(), Vec::new()), "{what}");
        // In the place of GPU code it is GPU code that was not read.
        let found = seen(&Elf::default().registered(&[bytes]).bytes());
        assert_eq!((found.code, found.not_inspected), (Vec::new(), vec![UninspectedElfPart::Code]), "{what}");
    }
}

#[test]
fn a_truncated_fat_binary_does_not_hide_the_next_one() {
    let mut broken = container(&[sass(80, ' '), sass(90, ' ')]);
    broken[16 + 64 + make::PAYLOAD + 2] = 7;
    let sound = container(&[sass(75, ' ')]);
    let found = seen(&Elf::default().registered(&[sound.clone(), broken, sound.clone()]).bytes());
    assert_eq!(found.code, [cubins(CodeSection::Registered, 2, &["75"])]);
    assert_eq!(found.not_inspected, [UninspectedElfPart::Code]);
    for junk in [vec![1; 8], b"\x50\xed\x55\xba\x02\0\x10\0".to_vec()] {
        let found = seen(&Elf::default().registered(&[sound.clone(), junk, sound.clone()]).bytes());
        assert_eq!(found.code, [cubins(CodeSection::Registered, 2, &["75"])]);
        assert_eq!(found.not_inspected, [UninspectedElfPart::Code]);
    }
}

#[test]
fn an_elf_section_without_bytes_is_complete() {
    let found = seen(&Elf::default().with(".nv_fatbin", 8, 8, vec![3; 64]).bytes());
    assert_eq!((found.code, found.not_inspected), (Vec::new(), Vec::new()));
}

#[test]
fn compat_note_is_read_like_the_container_toolkit() {
    let with = |bytes: Vec<u8>, align: u64| {
        seen(&Elf { programs: Programs::Nowhere, ..Elf::default() }.noted(bytes, align).bytes())
    };
    for align in [4, 8] {
        let step = usize::try_from(align).expect("small");
        let found = with(note("NVIDIA Corporation", r#"{"CUDA version":"13.2"}"#, step), align);
        assert_eq!(
            found.note.and_then(|note| note.cuda).map(|cuda| cuda.to_string()).as_deref(),
            Some("13.2"),
            "{align}"
        );
    }
    let nothing = [
        ("JSON", note("NVIDIA Corporation", "{\"driver\": [", 4), 4),
        ("no text", note("NVIDIA Corporation", "", 4), 4),
        ("padding", note("NVIDIA Corporation", COMPAT, 8), 4),
        ("alignment of 3", note("NVIDIA Corporation", COMPAT, 4), 3),
        ("owner", note("NVIDIA Corporation Ltd", COMPAT, 4), 4),
    ];
    for (what, bytes, align) in nothing {
        let found = with(bytes, align);
        assert_eq!(found.note, None, "{what}");
    }
    let sound = note("NVIDIA Corporation", COMPAT, 4);
    for name in [".note.cuda", ".note.cuda.fwd_compatibility2", ".rodata"] {
        assert_eq!(seen(&Elf::default().with(name, 7, 4, sound.clone()).bytes()).note, None, "{name}");
    }
    // Of another type, it is no note.
    assert_eq!(seen(&Elf::default().with(".note.cuda.fwd_compatibility", 1, 4, sound.clone()).bytes()).note, None);
    // Without sections the note is not found, and nothing is reported as uninspected.
    let found = seen(&Elf { sections: false, ..Elf::default() }.noted(sound, 4).bytes());
    assert_eq!((found.note, found.not_inspected), (None, Vec::new()));
}

#[test]
fn a_note_beyond_the_limit_is_reported() {
    let long = format!("{{\"driver\":[{}1]}}", "535,".repeat(600));
    let found = seen(&Elf::default().noted(note("NVIDIA Corporation", &long, 4), 4).bytes());
    assert_eq!((found.note, found.not_inspected), (None, vec![UninspectedElfPart::Note]));
    let decoys = note("NVIDIA Corporation", "{}", 4).repeat(5);
    let file = Elf::default().with(".rodata", 1, 4, decoys).noted(note("NVIDIA Corporation", COMPAT, 4), 4);
    let found = seen(&file.bytes());
    assert_eq!((found.note, found.not_inspected), (None, vec![UninspectedElfPart::Note]));
}

#[test]
fn other_files_give_their_machine_and_no_more() {
    let code = [container(&[sass(90, ' ')])];
    for (machine, kind) in [(190, 3), (8, 3), (21, 3), (0, 3)] {
        let found = seen(&Elf { machine, ..library() }.registered(&code).bytes());
        let expected =
            ElfSummary { machine, kind, not_inspected: vec![UninspectedElfPart::Foreign], ..ElfSummary::default() };
        assert_eq!(found, expected);
    }
    let mut narrow = library().registered(&code).bytes();
    narrow[4] = 1;
    assert_eq!(seen(&narrow).not_inspected, [UninspectedElfPart::Foreign]);
    let mut big = library().registered(&code).bytes();
    big[5] = 2;
    big.swap(16, 17);
    big.swap(18, 19);
    let found = seen(&big);
    assert_eq!((found.machine, found.not_inspected), (62, vec![UninspectedElfPart::Foreign]));
    for text in [&b""[..], b"\x7fEL", b"INPUT(libcudart.so.12)", b"\x50\xed\x55\xba\x01\0\x10\0", &[0; 500]] {
        let found = seen(text);
        assert_eq!(
            found,
            ElfSummary { not_inspected: vec![UninspectedElfPart::NotElf], ..ElfSummary::default() },
            "{text:?}"
        );
        assert!(!found.has_complete_code());
    }
}

#[test]
fn a_truncated_stream_is_reported_at_every_length() {
    let file = library().registered(&[container(&[sass(90, ' '), sass(80, ' ')]), container(&[sass(75, ' ')])]);
    let bytes = file.noted(note("NVIDIA Corporation", COMPAT, 4), 4).bytes();
    let whole = seen(&bytes);
    for end in 0..bytes.len() {
        let found = fed(size(&bytes), [&bytes[..end]]);
        assert!(found.not_inspected.contains(&UninspectedElfPart::Truncated), "{end}");
        assert!(!found.has_complete_code(), "{end}");
        assert!(found.needed.iter().all(|name| whole.needed.contains(name)), "{end}: {:?}", found.needed);
        assert!(found.soname.is_none() || found.soname == whole.soname, "{end}");
        assert_eq!(fed(size(&bytes), bytes[..end].chunks(5)), found, "{end}");
    }
    // Bytes beyond the size belong to another file.
    let more = [bytes.as_slice(), &container(&[sass(50, ' ')])].concat();
    assert_eq!(fed(size(&bytes), more.chunks(100)), whole);
}

#[test]
fn invalid_elf_tables_are_reported_as_not_inspected() {
    let sound = library().registered(&[container(&[sass(90, ' ')])]).bytes();
    let changed = |at: usize, value: &[u8]| {
        let mut bytes = sound.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        seen(&bytes).not_inspected
    };
    let far = u64::MAX.to_le_bytes();
    assert_eq!(changed(32, &far), [UninspectedElfPart::Dynamic], "program headers far away");
    assert_eq!(changed(32, &[0; 8]), [UninspectedElfPart::Dynamic], "program headers in the header");
    assert_eq!(changed(56, &[255, 255]), [UninspectedElfPart::Dynamic], "65,535 program headers");
    assert_eq!(changed(54, &[1, 0]), [UninspectedElfPart::Dynamic], "program headers of one byte");
    assert_eq!(changed(120 + 8, &far), [UninspectedElfPart::Dynamic], "dynamic section far away");
    assert_eq!(changed(120 + 8, &[0; 8]), [UninspectedElfPart::Dynamic], "dynamic section in the header");
    assert_eq!(changed(120 + 32, &far), [UninspectedElfPart::Dynamic], "dynamic section without end");
    assert_eq!(
        changed(64 + 16, &far),
        [UninspectedElfPart::Soname, UninspectedElfPart::Needed, UninspectedElfPart::SearchPath],
        "nothing loaded"
    );
    for (what, at, value) in [
        ("far away", 40, &far[..]),
        ("in the header", 40, &[1, 0, 0, 0, 0, 0, 0, 0]),
        ("65,535 sections", 60, &[255, 255]),
        ("no sections", 60, &[0, 0]),
        ("sections of one byte", 58, &[1, 0]),
        ("names beyond the table", 62, &[255, 255]),
    ] {
        assert_eq!(changed(at, value), [UninspectedElfPart::Sections], "{what}");
    }
}

#[test]
fn invalid_elf_sections_are_read_up_to_the_end_of_the_file() {
    let sound = Elf::default().registered(&[container(&[sass(90, ' ')])]).bytes();
    let table = usize::try_from(u64::from_le_bytes(sound[40..48].try_into().expect("eight"))).expect("small");
    // Null, .dynstr, .nv_fatbin, .dynamic, .shstrtab.
    let (code, names) = (table + 2 * 64, table + 4 * 64);
    let changed = |at: usize, value: u64| {
        let mut bytes = sound.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let found = seen(&bytes);
        (found.code.first().map(|containers| containers.place), found.not_inspected)
    };
    assert_eq!(
        changed(code + 32, u64::MAX),
        (Some(CodeSection::Registered), vec![UninspectedElfPart::Code]),
        "without end"
    );
    assert_eq!(
        changed(code + 24, u64::MAX),
        (Some(CodeSection::Elsewhere), vec![UninspectedElfPart::Code]),
        "far away"
    );
    assert_eq!(
        changed(names + 24, u64::MAX),
        (Some(CodeSection::Unknown), vec![UninspectedElfPart::Sections]),
        "names far away"
    );
    let inside = u64::from_le_bytes(sound[code + 24..code + 32].try_into().expect("eight")) + 100;
    assert_eq!(
        changed(names + 24, inside),
        (Some(CodeSection::Unknown), vec![UninspectedElfPart::Sections]),
        "names in GPU code"
    );
}

#[test]
fn excess_gpu_code_is_reported_and_memory_is_bounded() {
    // Each container has another content, then each is like the one before.
    let varied =
        |count: u32| (0..count).map(|index| container(&[sass(10 + index % 2_500, ' '), sass(10 + index / 2_500, ' ')]));
    let found = fed_whole(&Elf::default().registered(&varied(700).collect::<Vec<_>>()));
    assert_eq!((found.code.len(), found.not_inspected), (512, vec![UninspectedElfPart::TooMuchCode]));
    let small = Entry { payload: 0, ..sass(90, ' ') };
    let alike = vec![container(std::slice::from_ref(&small)); 20_000];
    let found = fed_whole(&Elf::default().registered(&alike));
    assert_eq!((found.code, found.not_inspected), (vec![cubins(CodeSection::Registered, 20_000, &["90"])], Vec::new()));
    let other = container(&[Entry { payload: 0, ..sass(80, ' ') }]);
    let turns = [alike[0].clone(), other].concat();
    let found = fed_whole(&Elf::default().registered(&vec![turns; 4_000]));
    assert_eq!(found.not_inspected, [UninspectedElfPart::TooMuchCode]);
    assert_eq!(found.code.iter().map(|containers| containers.count).sum::<u32>(), 4_096);
    let crowd = container(&vec![small; 3_000]);
    let found = fed_whole(&Elf::default().registered(&[crowd]));
    assert_eq!(found.not_inspected, [UninspectedElfPart::TooMuchCode]);
    assert_eq!(found.code.first().map(|containers| containers.holds.sass.len()), Some(256));
    // A range that may be on both sides of a section boundary has no section.
    let file = Elf::default().registered(&alike[..3_000]).relocatable(&alike[..10]);
    let found = fed_whole(&file);
    assert!(!found.has_complete_code());
    assert_eq!(found.code.iter().map(|containers| containers.count).sum::<u32>(), 3_010);
}

fn fed_whole(file: &Elf) -> ElfSummary {
    let bytes = file.bytes();
    fed(size(&bytes), bytes.chunks(4_000))
}

#[test]
fn file_with_every_part_at_its_limit_fits_in_memory() {
    let names: Vec<&'static str> = (0..140).map(|index| &*String::leak(format!("lib{index:0150}.so"))).collect();
    let noise = |needle: &[u8], count: usize| [needle, b"\0"].concat().repeat(count);
    let varied = |index: u32| container(&[Entry { payload: 0, ..sass(10 + index % 2_500, ' ') }, sass(90, ' ')]);
    let dynamic_first = Elf { needed: names, soname: Some("libx.so"), dynamic_first: true, ..Elf::default() };
    let mut file = dynamic_first
        .with(".rodata", 1, 8, [noise(b"/usr/lib/libabcdefgh.so.1", 4_000), noise(b"$ORIGIN/lib", 4_000)].concat())
        .with(".data", 1, 4, note("NVIDIA Corporation", &" ".repeat(900), 4).repeat(10))
        .with(".comment", 1, 1, noise(b".nv_fatbin", 4_000))
        .registered(&(0..6_000).map(|index| varied(index % 600)).collect::<Vec<_>>());
    for _ in 0..240 {
        file = file.with(".x", 1, 8, vec![0; 8]);
    }
    let found = fed_whole(&file);
    assert!(found.not_inspected.contains(&UninspectedElfPart::Needed), "{:?}", found.not_inspected);
    assert!(found.not_inspected.contains(&UninspectedElfPart::Sections), "{:?}", found.not_inspected);
    assert_eq!(found.needed.len(), 128);
    let found = fed_whole(&Elf { dynamic_first: false, ..file });
    assert!(found.not_inspected.contains(&UninspectedElfPart::Sections), "{:?}", found.not_inspected);
}

#[test]
fn hostile_files_take_no_longer_than_others() {
    let begun = Instant::now();
    let shapes: [(&str, Vec<u8>); 6] = [
        ("magic at odd places", b"\x50\xed\x55\xba".repeat(150_000)),
        ("names without an end", b".so".repeat(60_000)),
        ("paths", b"/lib$ORIGIN".repeat(60_000)),
        ("owners", b"NVIDIA Corporation".repeat(40_000)),
        ("names of sections", b".nv_fatbin\0".repeat(60_000)),
        ("empty entries", container(&vec![Entry { payload: 0, ..sass(90, ' ') }; 8_000])),
    ];
    for (what, bytes) in shapes {
        let found = fed_whole(&library().with(".rodata", 1, 8, bytes));
        assert_eq!(found.machine, 62, "{what}");
    }
    // A size that no file has, and bytes that end at once.
    let found = fed(u64::MAX, [library().bytes().as_slice()]);
    assert!(found.not_inspected.contains(&UninspectedElfPart::Truncated));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
