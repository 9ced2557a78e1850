//! The options of `serve` that grant something, as the kinds of grants describe them. Knows no kind by name.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use drivebay_policy::grants::CommandOption;
use drivebay_policy::{Grants, Problems};

/// What was given, in the order of the kinds.
#[derive(Debug, Clone, Default)]
pub(super) struct GrantOptions(Vec<(CommandOption, String)>);

impl GrantOptions {
    /// What is granted by it.
    pub(super) fn granted(&self, problems: &mut Problems) -> Grants {
        let mut grants = Grants::default();
        self.add_to(&mut grants, problems);
        grants
    }

    /// Grants it on top of what is granted.
    pub(super) fn add_to(&self, grants: &mut Grants, problems: &mut Problems) {
        for (option, text) in &self.0 {
            grants.argument(*option, text, problems);
        }
    }

    /// The words that give it again.
    pub(super) fn again(&self) -> String {
        let word = |(option, text): &(CommandOption, String)| match option.value {
            Some(_) => format!(" --{} {text}", option.name),
            None => format!(" --{}", option.name),
        };
        self.0.iter().map(word).collect()
    }
}

impl Args for GrantOptions {
    fn augment_args(command: Command) -> Command {
        command.args(Grants::options().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(option: CommandOption) -> Arg {
    let argument = Arg::new(option.name).long(option.name).help(option.help);
    match option.value {
        Some(value) => argument.value_name(value).action(ArgAction::Append),
        None => argument.action(ArgAction::SetTrue),
    }
}

impl FromArgMatches for GrantOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for option in Grants::options() {
            if option.value.is_none() {
                self.0.extend(matches.get_flag(option.name).then(|| (option, String::new())));
            } else {
                let texts = matches.get_many::<String>(option.name).into_iter().flatten();
                self.0.extend(texts.map(|text| (option, text.clone())));
            }
        }
        Ok(())
    }
}
