//! Determines the effect of a command on files from its program and arguments.

use crate::build::arguments::{Arguments, options_of_program};
use crate::build::command::{Command, Word};
use crate::build::file_effect::{Destination, DownloadTarget, FileEffect, Operand, TransferKind};
use crate::build::{git, special_tools, tar_command};
use crate::knowledge::{FileToolRow, Knowledge, OptionMeaning, ToolEffect};

impl FileEffect {
    /// Returns the effect of a command.
    pub fn of_command(command: &Command) -> Self {
        let Some(program) = command.program().filter(|_| is_installed_program(command)) else { return Self::Unknown };
        if let Some(effect) = tar_command::effect_of(program, command)
            .or_else(|| git::effect_of(program, command))
            .or_else(|| special_tools::effect_of(program, command))
        {
            return effect;
        }
        let rows = Knowledge::built_in().file_tools().iter().filter(|row| row.programs.contains(&program));
        let rows: Vec<&FileToolRow> = rows.collect();
        let options = options_of_program(program);
        match rows.as_slice() {
            [] => Self::Unknown,
            [row] if row.effect == ToolEffect::Nothing && options.is_empty() => Self::Nothing,
            _ => {
                let mut arguments = Arguments::of_command(command, &options);
                let begins = |row: &&&FileToolRow| arguments.begins_with(row.subcommand);
                let Some(row) = rows.iter().filter(begins).max_by_key(|row| row.subcommand.len()) else {
                    return Self::Unknown;
                };
                arguments.operands.drain(..row.subcommand.len());
                Self::of_tool(row, &arguments)
            }
        }
    }

    /// Returns the effect of a program in the table.
    fn of_tool(row: &FileToolRow, arguments: &Arguments) -> Self {
        let mut operands = arguments.operands.clone();
        for (_, value) in arguments.options.iter().filter(|(meaning, _)| *meaning == OptionMeaning::Operand) {
            operands.extend(value.clone());
        }
        if row.script_first && !arguments.has(OptionMeaning::Script) && !operands.is_empty() {
            operands.remove(0);
        }
        if arguments.has(OptionMeaning::Anything) {
            return Self::Unknown;
        }
        if arguments.has(OptionMeaning::Nothing) {
            return Self::Nothing;
        }
        match row.effect {
            ToolEffect::Nothing if arguments.has(OptionMeaning::InPlace) => Self::Write(operands),
            ToolEffect::Nothing if arguments.value(OptionMeaning::File).is_some() => {
                Self::Write(arguments.values(OptionMeaning::File).cloned().collect())
            }
            ToolEffect::Nothing => Self::Nothing,
            ToolEffect::Copy | ToolEffect::Synchronize | ToolEffect::Move | ToolEffect::Link => {
                Self::of_transfer(row, arguments, operands)
            }
            ToolEffect::Remove => Self::Remove(operands),
            ToolEffect::MakeDirectory => Self::MakeDirectory(operands),
            ToolEffect::Create => Self::Create(operands),
            ToolEffect::Write => Self::Write(operands),
            ToolEffect::Download | ToolEffect::DownloadByName | ToolEffect::DownloadByServerName => {
                Self::of_download(row.effect, arguments, operands)
            }
            ToolEffect::CopyUrl => Self::of_url_copy(row, arguments, operands),
            ToolEffect::Unpack => {
                let archive = (!operands.is_empty()).then(|| operands.remove(0));
                Self::Unpack { archive, folder: arguments.value(OptionMeaning::Folder).cloned() }
            }
        }
    }

    /// Returns the effect of a program that copies, moves or links.
    fn of_transfer(row: &FileToolRow, arguments: &Arguments, mut operands: Vec<Operand>) -> Self {
        if arguments.has(OptionMeaning::Directories) {
            return Self::MakeDirectory(operands);
        }
        let kind = match row.effect {
            ToolEffect::Move => TransferKind::Move,
            _ if arguments.has(OptionMeaning::Link) => TransferKind::Link,
            // A hard link has the content of its source.
            _ => TransferKind::Copy,
        };
        let recursive = kind == TransferKind::Move || arguments.has(OptionMeaning::Recursive);
        let to = match (arguments.value(OptionMeaning::Folder), operands.len()) {
            (Some(folder), _) => Destination::Folder(folder.clone()),
            (None, 1) if row.effect == ToolEffect::Link => {
                Destination::Folder(Operand { text: Some(".".to_owned()), span: operands[0].span })
            }
            (None, 0 | 1) => return Self::Nothing,
            (None, length) => {
                let to = operands.remove(length - 1);
                let is_folder = length > 2 || to.text.as_ref().is_some_and(|to| to.ends_with(['/', '.']));
                match (is_folder, arguments.has(OptionMeaning::NoFolder)) {
                    (_, true) => Destination::File(to),
                    (true, false) => Destination::Folder(to),
                    (false, false) => Destination::Path(to),
                }
            }
        };
        let mut sources = operands;
        if row.effect == ToolEffect::Synchronize {
            for text in sources.iter_mut().filter_map(|source| source.text.as_mut()).filter(|text| text.ends_with('/'))
            {
                text.push('.');
            }
        }
        Self::Transfer { kind, sources, to, recursive, selective: arguments.has(OptionMeaning::Selective) }
    }

    /// Returns the effect of a program that copies between URLs and files.
    fn of_url_copy(row: &FileToolRow, arguments: &Arguments, mut operands: Vec<Operand>) -> Self {
        let is_url = |operand: &Operand| operand.text.as_ref().is_some_and(|text| text.contains("://"));
        match operands.split_last() {
            None => Self::Nothing,
            Some((to, _)) if is_url(to) => Self::Nothing,
            Some((_, sources)) if !sources.iter().any(is_url) => Self::of_transfer(row, arguments, operands),
            Some((to, _)) if arguments.has(OptionMeaning::Recursive) => Self::of_unknown_files(to),
            // What a pattern of a URL stands for is unknown.
            Some((to, sources)) if sources.iter().any(|source| source.file_name().is_none()) => {
                Self::of_unknown_files(to)
            }
            Some((to, sources)) => {
                let ends_in_slash = to.text.as_ref().is_some_and(|to| to.ends_with(['/', '.']));
                let extension = |operand: &Operand| Some(operand.file_name()?.rsplit_once('.')?.1.to_owned());
                // A path with the ending of the source is a file; another one may be a folder.
                let is_file =
                    matches!(sources, [source] if extension(source).is_some() && extension(source) == extension(to));
                let target = match (is_file, ends_in_slash || sources.len() > 1) {
                    (true, false) => DownloadTarget::File(to.clone()),
                    (_, true) => DownloadTarget::RemoteName { folder: Some(to.clone()), server_named: false },
                    (false, false) => return Self::of_unknown_files(to),
                };
                operands.pop();
                let may_have_options = arguments.may_hide_options;
                Self::Download { addresses: operands, to: target, may_have_options }
            }
        }
    }

    /// Returns the effect of writing a file at a path, or files of unknown names into it.
    fn of_unknown_files(to: &Operand) -> Self {
        let source = Operand { text: None, span: to.span };
        let to = Destination::Path(to.clone());
        Self::Transfer { kind: TransferKind::Copy, sources: vec![source], to, recursive: true, selective: false }
    }

    /// Returns the effect of a program that downloads.
    fn of_download(effect: ToolEffect, arguments: &Arguments, addresses: Vec<Operand>) -> Self {
        let remote_folder = arguments.value(OptionMeaning::RemoteFolder).cloned();
        let folder = arguments.value(OptionMeaning::Folder).cloned();
        let outputs = arguments.values(OptionMeaning::File).count();
        let remote_names = arguments.options.iter().filter(|(own, _)| *own == OptionMeaning::RemoteName).count();
        if outputs > 1 || outputs == 1 && remote_names > 0 {
            // Each address has a file of its own.
            let names = addresses.iter().filter_map(|address| {
                Some(Operand { text: Some(address.file_name()?.to_owned()), span: address.span })
            });
            let files = arguments.values(OptionMeaning::File).cloned().chain(names).collect();
            return Self::Write(files);
        }
        let server_named = arguments.has(OptionMeaning::ServerName);
        let by_name = effect == ToolEffect::DownloadByName || server_named;
        let to = match arguments.value(OptionMeaning::File) {
            Some(file) if matches!(file.text.as_deref(), Some("-" | "/dev/stdout")) => DownloadTarget::StandardOutput,
            Some(file) => DownloadTarget::File(match (&folder, &file.text) {
                (Some(Operand { text: Some(folder), .. }), Some(text)) if !text.starts_with('/') => {
                    Operand { text: Some(format!("{folder}/{text}")), span: file.span }
                }
                _ => file.clone(),
            }),
            None if effect == ToolEffect::DownloadByServerName => {
                let Some(first) = addresses.first() else { return Self::Nothing };
                let here = Operand { text: Some(".".to_owned()), span: first.span };
                return Self::of_unknown_files(&folder.unwrap_or(here));
            }
            None if by_name || arguments.has(OptionMeaning::RemoteName) => {
                DownloadTarget::RemoteName { folder: folder.or(remote_folder), server_named }
            }
            None => DownloadTarget::StandardOutput,
        };
        Self::Download { addresses, to, may_have_options: arguments.may_hide_options }
    }
}

/// Whether a command runs a program by its name, or from a folder of programs; a file of a project such as `./install`
/// may have the name of one.
fn is_installed_program(command: &Command) -> bool {
    let path = command.words.first().and_then(Word::known).and_then(|word| word.rsplit_once('/'));
    path.is_none_or(|(folder, _)| matches!(folder.rsplit('/').next(), Some("bin" | "condabin" | "sbin")))
}
