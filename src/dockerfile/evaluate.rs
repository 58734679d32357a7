//! Evaluation of a build target: its base image, environment, RUN and COPY instructions.

use std::sync::Arc;

use crate::dockerfile::argument_words::{parse_name_value_pairs, whitespace_word_ranges};
use crate::dockerfile::context::{normalize_path, resolve_path};
use crate::dockerfile::evaluated_target::MOST_INSTRUCTIONS;
use crate::dockerfile::{
    BaseEnvAssumption, BaseImageEnv, BaseKind, CopyDestination, CopyInstruction, Dockerfile, EnvAssignment,
    EvaluateError, EvaluateOptions, EvaluatedBase, EvaluatedTarget, ExpandedText, Instruction, InstructionKind,
    MappedText, PlatformSpecifier, RunForm, RunInstruction, VariableScope, evaluated_target,
};
use crate::model::cause::Cause;
use crate::model::reference::ImageReference;
use crate::text::source::Span;

impl Dockerfile {
    /// Evaluates a build target: its chain of stages from the base image, with all variables expanded.
    pub fn evaluate(&self, options: &EvaluateOptions) -> Result<EvaluatedTarget, EvaluateError> {
        let target = match &options.target {
            _ if self.stages.is_empty() => return Err(EvaluateError::NoStage),
            _ if self.is_too_long() => return Err(EvaluateError::TooLong),
            Some(name) => self.find_stage(name).ok_or_else(|| EvaluateError::UnknownTarget(name.clone()))?,
            None => self.stages.len().checked_sub(1).ok_or(EvaluateError::NoStage)?,
        };
        let global = self.global_scope(options);
        let mut chain = vec![target];
        let mut root = target;
        let mut text = global.expand(&self.stages[root].base, self.escape, None);
        loop {
            if let Some(instead) = text.known_text().and_then(|name| options.replacement_context(name)) {
                text = instead;
                break;
            }
            let Some(parent) = text.known_text().and_then(|name| self.find_parent_stage(name, root)) else { break };
            chain.push(parent);
            root = parent;
            text = global.expand(&self.stages[root].base, self.escape, None);
        }
        chain.reverse();
        let flag = self.instructions[self.stages[root].from].flag("platform");
        let platform = flag.and_then(|flag| {
            let value = flag.value.as_ref()?;
            Some((normalize_from_platform(global.expand(value, self.escape, None))?, value.full_source_span()))
        });
        let base = evaluate_base(text, self.stages[root].base_span);
        let open = base.kind != BaseKind::Scratch;
        let own = |known: &&Arc<BaseImageEnv>| matches!(&base.kind, BaseKind::Image(image) if *image == known.image);
        let known = options.known_env.as_ref().filter(own);
        let mut walk = TargetEvaluator {
            file: self,
            options,
            global: &global,
            scope: Arc::new(VariableScope {
                base_env: (open && !known.is_some_and(|known| known.whole)).then_some(options.base_env),
                env: known.map_or_else(
                    || evaluated_target::known_base_variables(&base.kind, options.knowledge),
                    |known| known.to_scope_variables(),
                ),
                of_base: evaluated_target::base_variable_names(&base.kind, options.knowledge)
                    .filter(|_| options.base_env == BaseEnvAssumption::Unknown),
                hidden: Arc::new(global.args.keys().cloned().collect()),
                ..VariableScope::default()
            }),
            shell: None,
            path_head: None,
            workdir: (!open).then(|| "/".to_owned()),
            folder: Arc::from("/"),
            stage: root,
            env: Vec::new(),
            runs: Vec::new(),
            copies: Vec::new(),
        };
        let mut before: &[usize] = &[];
        for stage in &chain {
            walk.stage = *stage;
            walk.run_onbuild_triggers(before, self.stages[*stage].from);
            before = &self.stages[*stage].instructions;
            for at in &self.stages[*stage].instructions {
                walk.evaluate_instruction(*at, &self.instructions[*at]);
            }
        }
        let TargetEvaluator { env, runs, copies, scope, folder, .. } = walk;
        Ok(EvaluatedTarget { chain, base, platform, env, runs, copies, scope, folder })
    }

    /// Whether it has more instructions than `MOST_INSTRUCTIONS`.
    pub fn is_too_long(&self) -> bool {
        self.instructions.len() > MOST_INSTRUCTIONS
    }

    /// Returns the variables in front of the first FROM: platform arguments and global ARGs.
    fn global_scope(&self, options: &EvaluateOptions) -> VariableScope {
        let mut scope = VariableScope { global: true, ..VariableScope::default() };
        for (name, value) in platform_arguments(&options.platform) {
            scope.args.insert(name.to_owned(), Some(ExpandedText::literal(value)));
        }
        let before = self.stages.first().map_or(0, |stage| stage.from);
        for instruction in self.instructions.iter().take(before).filter(|one| one.kind == InstructionKind::Arg) {
            for pair in parse_name_value_pairs(&instruction.arguments, self.escape, false) {
                let value = match options.build_argument(&pair.name) {
                    Some(given) => Some(given),
                    None => pair.value.map(|value| scope.expand(&value, self.escape, Some(value.full_source_span()))),
                };
                let predefined = value.is_none() && scope.args.contains_key(&pair.name);
                if !predefined {
                    scope.args.insert(pair.name, value);
                }
            }
        }
        scope
    }
}

/// Classifies the expanded name of a base image.
fn evaluate_base(text: ExpandedText, span: Span) -> EvaluatedBase {
    let placeholder = text.known_text().is_some_and(|name| name.contains(['<', '>']));
    let text = if placeholder { ExpandedText::unresolved(Vec::new(), Cause::Placeholder) } else { text };
    let kind = match text.known_text() {
        None => BaseKind::Unresolved,
        Some("scratch") => BaseKind::Scratch,
        Some(name) => match ImageReference::parse(name) {
            Ok(image) => BaseKind::Image(image),
            Err(error) => BaseKind::Invalid(error.to_string()),
        },
    };
    EvaluatedBase { sources: text.origins().to_vec(), text, span, kind }
}

/// Returns a path relative to a working directory as an absolute one; `None` where the working directory is unknown.
fn join_workdir(workdir: Option<&str>, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return Some(path.to_owned());
    }
    workdir.map(|workdir| format!("{}/{path}", workdir.trim_end_matches('/')))
}

/// Normalizes the `--platform` of a FROM; `None` where it leaves the architecture to the build. Invalid platforms are
/// unchanged.
fn normalize_from_platform(text: ExpandedText) -> Option<ExpandedText> {
    match text {
        ExpandedText::Known { value, .. } if value.is_empty() => None,
        ExpandedText::Known { value, origins } => match PlatformSpecifier::parse(&value) {
            Some(PlatformSpecifier::Whole(value)) => Some(ExpandedText::Known { value, origins }),
            Some(PlatformSpecifier::System) => None,
            None => Some(ExpandedText::Known { value, origins }),
        },
        unresolved @ ExpandedText::Unresolved { .. } => Some(unresolved),
    }
}

/// Returns the predefined platform arguments, such as `TARGETARCH`, with their values.
fn platform_arguments(platform: &str) -> Vec<(&'static str, String)> {
    let mut parts = platform.splitn(3, '/').map(str::to_owned);
    let (os, arch, variant) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    vec![
        ("BUILDPLATFORM", platform.to_owned()),
        ("BUILDOS", os.clone()),
        ("BUILDARCH", arch.clone()),
        ("BUILDVARIANT", variant.clone()),
        ("TARGETPLATFORM", platform.to_owned()),
        ("TARGETOS", os),
        ("TARGETARCH", arch),
        ("TARGETVARIANT", variant),
    ]
}

/// The state while the instructions of a build target are evaluated in order.
struct TargetEvaluator<'a> {
    file: &'a Dockerfile,
    options: &'a EvaluateOptions,
    global: &'a VariableScope,
    scope: Arc<VariableScope>,
    shell: Option<Vec<String>>,
    workdir: Option<String>,
    folder: Arc<str>,
    path_head: Option<String>,
    stage: usize,
    env: Vec<EnvAssignment>,
    runs: Vec<RunInstruction>,
    copies: Vec<CopyInstruction>,
}

impl TargetEvaluator<'_> {
    /// Evaluates the ONBUILD instructions of the parent stage, which run before all others.
    fn run_onbuild_triggers(&mut self, before: &[usize], from: usize) {
        let file = self.file;
        let children = before.iter().filter_map(|at| file.instructions.get(*at)?.child.as_deref());
        for child in children {
            // Commands see what is copied in front of them.
            let at = if matches!(child.kind, InstructionKind::Copy | InstructionKind::Add) {
                from.saturating_sub(1)
            } else {
                from
            };
            self.evaluate_instruction(at, child);
        }
    }

    /// Evaluates one instruction.
    fn evaluate_instruction(&mut self, at: usize, instruction: &Instruction) {
        match &instruction.kind {
            InstructionKind::Arg => self.evaluate_arg(instruction),
            InstructionKind::Env => self.evaluate_env(at, instruction),
            InstructionKind::Shell => {
                let words = instruction.json.as_ref();
                self.shell = words.map(|words| words.iter().map(|word| word.text().to_owned()).collect());
            }
            InstructionKind::Run => self.runs.push(RunInstruction {
                stage: self.stage,
                instruction: at,
                span: instruction.span,
                form: match &instruction.json {
                    Some(words) => RunForm::Exec(words.clone()),
                    None => RunForm::Shell(instruction.arguments.clone()),
                },
                heredocs: instruction.heredocs.clone(),
                scope: self.scope_with_secrets(instruction),
                shell: self.shell.clone(),
                workdir: self.workdir.clone(),
                folder: Arc::clone(&self.folder),
                path_head: self.path_head.clone(),
                device: instruction.flags.iter().any(|flag| flag.name == "device"),
            }),
            InstructionKind::Workdir => {
                let expanded = self.scope.expand(&instruction.arguments, self.file.escape, None);
                self.workdir = expanded.known_text().and_then(|path| join_workdir(self.workdir.as_deref(), path));
                let seen = join_workdir(Some(&self.folder), expanded.known_text().unwrap_or("?")).unwrap_or_default();
                self.folder = Arc::from(format!("/{}", normalize_path(&seen)));
            }
            InstructionKind::Copy | InstructionKind::Add => self.evaluate_copy(at, instruction),
            _ => {}
        }
    }

    /// Returns the variables of a RUN, with an unknown value for each variable that a secret mount sets.
    fn scope_with_secrets(&self, instruction: &Instruction) -> Arc<VariableScope> {
        let mut scope = Arc::clone(&self.scope);
        let mounts = instruction.flags.iter().filter(|flag| flag.name == "mount");
        for mount in mounts.filter_map(|flag| flag.value.as_ref()) {
            let parts = || mount.text().split(',').filter_map(|part| part.split_once('='));
            let is_secret = parts().any(|(name, value)| name.trim() == "type" && value.trim() == "secret");
            for (_, name) in parts().filter(|(name, _)| is_secret && name.trim() == "env") {
                let name = name.trim().trim_matches('"').to_owned();
                let value = ExpandedText::unresolved(vec![name.clone()], Cause::SecretValue);
                Arc::make_mut(&mut scope).env.insert(name, value);
            }
        }
        scope
    }

    /// Evaluates an ARG instruction.
    fn evaluate_arg(&mut self, instruction: &Instruction) {
        for pair in parse_name_value_pairs(&instruction.arguments, self.file.escape, false) {
            let value = match (self.options.build_argument(&pair.name), pair.value) {
                (Some(given), _) => Some(given),
                (None, Some(value)) => {
                    Some(self.scope.expand(&value, self.file.escape, Some(value.full_source_span())))
                }
                (None, None) => self.global.args.get(&pair.name).cloned().flatten(),
            };
            Arc::make_mut(&mut self.scope).args.insert(pair.name, value);
        }
    }

    /// Evaluates an ENV instruction.
    fn evaluate_env(&mut self, at: usize, instruction: &Instruction) {
        // Values see the variables before the instruction; dropping these avoids a copy in `make_mut`.
        let before = Arc::clone(&self.scope);
        let mut set: Vec<EnvAssignment> = Vec::new();
        for pair in parse_name_value_pairs(&instruction.arguments, self.file.escape, true) {
            let Some(written) = pair.value else { continue };
            let value_span = written.full_source_span();
            let origins = before.expand(&written, self.file.escape, None).origins().to_vec();
            let value = before.expand(&written, self.file.escape, Some(value_span));
            if pair.name == "PATH" {
                self.path_head = self.first_path_entry(&before, &written);
            }
            let (stage, span) = (self.stage, pair.span);
            set.push(EnvAssignment { name: pair.name, value, span, value_span, origins, stage, instruction: at });
        }
        drop(before);
        let env = &mut Arc::make_mut(&mut self.scope).env;
        env.extend(set.iter().map(|set| (set.name.clone(), set.value.clone())));
        self.env.extend(set);
    }

    /// Returns the part of a `PATH` value before its first `:`, which may be known where the rest is not.
    fn first_path_entry(&self, scope: &VariableScope, written: &MappedText) -> Option<String> {
        let end = written.text().find(':').unwrap_or(written.text().len());
        let first = written.slice(0..end);
        let quote = first.text().len() - first.text().trim_start_matches(['"', '\'']).len();
        let first = scope.expand(&first.slice(quote..end), self.file.escape, None);
        match first.known_text() {
            Some(first) => Some(first.to_owned()),
            // `$PATH:more` leaves the head as it was.
            None => self.path_head.clone(),
        }
    }

    /// Evaluates a COPY or ADD instruction.
    fn evaluate_copy(&mut self, at: usize, instruction: &Instruction) {
        let escape = self.file.escape;
        let arguments = &instruction.arguments;
        let words: Vec<MappedText> = match &instruction.json {
            Some(words) => words.clone(),
            None => whitespace_word_ranges(arguments.text()).into_iter().map(|word| arguments.slice(word)).collect(),
        };
        let mut sources: Vec<_> =
            words.iter().map(|word| (self.scope.expand(word, escape, None), word.full_source_span())).collect();
        let several = sources.len() > 2;
        let destination = sources.pop().and_then(|(path, _)| {
            let path = path.known_text()?;
            Some(CopyDestination {
                path: resolve_path(&self.folder, path),
                is_folder: several || path.ends_with(['/', '.']),
            })
        });
        let from = instruction.flag("from").and_then(|flag| flag.value.as_ref());
        let from = from.map(|value| (self.scope.expand(value, escape, None), value.full_source_span()));
        let from_stage =
            from.as_ref().and_then(|(name, _)| self.file.find_stage_before(name.known_text()?, self.stage));
        let (stage, span) = (self.stage, instruction.span);
        let (workdir, folder) = (self.workdir.clone(), Arc::clone(&self.folder));
        self.copies.push(CopyInstruction {
            stage,
            instruction: at,
            span,
            from,
            from_stage,
            sources,
            parents: instruction.flag("parents").is_some(),
            destination,
            workdir,
            folder,
        });
    }
}
