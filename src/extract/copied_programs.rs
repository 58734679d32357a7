//! What linked programs need in an image that copies them: CUDA, shared libraries and the C library.

use crate::cuda::{CudaVersion, split_path};
use crate::dockerfile::{CopyInstruction, EvaluatedTarget};
use crate::extract::compiled_programs::{COMPILER, LinkedProgram};
use crate::extract::stage_files::{absolute_path, known_sources};
use crate::extract::target_reader::{TargetReader, record_cuda_runtime};
use crate::extract::{compiled_programs, copied_toolkit, package_locations};
use crate::knowledge::Knowledge;
use crate::model::fact::{
    Evidence, FactKey, ObservedBase, ObservedLibraryDependencies, Origin, PrintedValue, ValueState,
};
use crate::text::source::Span;

/// The largest number of recorded programs per stage.
const MAX_PROGRAMS: usize = 64;
/// The C library that compiled programs need.
const C_LIBRARY: &str = "libc.so.6";
/// The prefix of the file name of its dynamic loader.
const LOADER_PREFIX: &str = "ld-linux";
/// Folders of the C library and its dynamic loader.
const C_LIBRARY_FOLDERS: &[&str] =
    &["/lib", "/lib64", "/usr", "/usr/lib", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];

/// Adds the programs of another stage that a COPY includes; `compiler` is the CUDA release of that stage.
pub(super) fn copy_programs(
    reader: &mut TargetReader<'_>,
    programs: Vec<LinkedProgram>,
    copy: &CopyInstruction,
    compiler: Option<(CudaVersion, Span)>,
) {
    let to = copy.destination.as_ref().map(|destination| &destination.path);
    for mut program in programs {
        let comes = known_sources(copy).any(|source| compiled_programs::is_program_copied(source, &program.places));
        if !comes || reader.state.programs.len() >= MAX_PROGRAMS {
            continue;
        }
        program.places.extend(to.cloned());
        program.compiler = program.compiler.or(compiler);
        program.origins.push(Origin::File { source: reader.source, span: copy.span });
        reader.state.programs.push(program);
    }
}

/// Records what the copied programs need: the CUDA of their compiler, shared libraries, and the C library.
pub(super) fn record_program_needs(reader: &mut TargetReader<'_>, evaluated: &EvaluatedTarget, knowledge: Knowledge) {
    let copied: Vec<LinkedProgram> =
        reader.state.programs.iter().filter(|one| one.origins.len() > 1).cloned().collect();
    for program in &copied {
        if let Some((cuda, span)) = program.compiler.filter(|(cuda, _)| needs_compiler_cuda(reader, *cuda, knowledge)) {
            let mut of_copy = program.origins.iter().filter_map(|origin| match origin {
                Origin::File { span, .. } => Some(*span),
                _ => None,
            });
            record_cuda_runtime(reader, cuda, [span, of_copy.next_back().unwrap_or(span)]);
        }
    }
    let mut needs: Vec<String> = Vec::new();
    let mut origins: Vec<Origin> = Vec::new();
    for program in &copied {
        let sonames = program.compiler.iter().flat_map(|(cuda, _)| {
            program.links.iter().filter_map(|link| copied_toolkit::find_soname(&format!("lib{link}"), *cuda, knowledge))
        });
        let new: Vec<String> = sonames.map(str::to_owned).filter(|soname| !needs.contains(soname)).collect();
        if !new.is_empty() {
            origins
                .extend(program.origins.iter().filter(|origin| !origins.contains(origin)).cloned().collect::<Vec<_>>());
            needs.extend(new);
        }
    }
    let code = reader.seen.code.iter().find(|code| code.component.is_none());
    let c_library_origins = copied.first().map(|program| program.origins.clone());
    let c_library_origins = c_library_origins.or_else(|| Some(reader.seen.facts.origins(code?.fact)));
    if let Some(c_library_origins) =
        c_library_origins.filter(|_| base_lacks_c_library(&reader.seen.base, knowledge) && !copies_c_library(evaluated))
    {
        needs.push(C_LIBRARY.to_owned());
        origins.extend(c_library_origins.into_iter().filter(|origin| !origins.contains(origin)).collect::<Vec<_>>());
    }
    if needs.is_empty() {
        return;
    }
    let file = code.map_or_else(|| format!("code that {COMPILER} compiles"), |code| code.file.clone());
    let state = ValueState::Known(PrintedValue::List(needs.clone()));
    let fact = reader.seen.facts.add(FactKey::FileNeeds, Some(&file), state, Evidence::Leaf(origins));
    reader.seen.needs.push(ObservedLibraryDependencies { file, component: None, needs, opens: Vec::new(), fact });
}

/// Whether programs of a compiler add their CUDA to an image: it has none of its own, or another release.
pub(super) fn needs_compiler_cuda(reader: &TargetReader<'_>, cuda: CudaVersion, knowledge: Knowledge) -> bool {
    let seen = &reader.seen;
    let of_base = || match &seen.base {
        ObservedBase::Image(image, _) => copied_toolkit::release_of_cuda_image(image, knowledge),
        ObservedBase::Scratch(_) | ObservedBase::NotSaid | ObservedBase::Unresolved(..) => None,
    };
    let other = || of_base().is_some_and(|own| own.release() != cuda.release());
    seen.cuda_runtime.is_none() && (copied_toolkit::base_lacks_cuda(seen, knowledge) || other())
}

/// Whether the base image has no C library that a compiled program can use.
fn base_lacks_c_library(base: &ObservedBase, knowledge: Knowledge) -> bool {
    match base {
        ObservedBase::Scratch(_) => true,
        ObservedBase::Image(image, _) => {
            let system = knowledge.operating_system(&image.familiar_name(), image.tag().unwrap_or_default());
            knowledge.plain_image(&image.familiar_name()).is_some() && system.is_some_and(|system| system.musl)
        }
        ObservedBase::NotSaid | ObservedBase::Unresolved(..) => false,
    }
}

/// Whether a COPY adds the C library, or a folder that contains it.
fn copies_c_library(evaluated: &EvaluatedTarget) -> bool {
    let mut all = evaluated.copies.iter().flat_map(known_sources);
    all.any(|source| {
        let path = absolute_path("/", source);
        let path = path.trim_end_matches('*').trim_end_matches('/');
        package_locations::is_whole_tree(source)
            || C_LIBRARY_FOLDERS.contains(&path)
            || split_path(path).1.starts_with(LOADER_PREFIX)
    })
}
