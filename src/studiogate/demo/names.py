"""The people of the demo studio by name. None of them exists; every address is under a reserved example domain."""

import unicodedata

# The first one is the member that the documentation books with.
MEMBERS = """
Robin Castellanos, Amara Nwosu, Ben Feldman, Chiara Lombardi, Daniel Kim, Elif Yilmaz, Farah Siddiqui, Gabriel Santos,
Hannah Goldberg, Isaac Mensah, Jasmine Tran, Kwame Boateng, Leila Farahani, Marcus Whitfield, Nadia Kowalski,
Omar Abdallah, Paige Thornton, Quentin Dubois, Rosa Delgado, Samir Patel, Talia Rosenbaum, Uma Krishnan, Victor Huang,
Wendy Calloway, Ximena Herrera, Yusuf Demir, Zoë Vandenberg, Aaron Blackwood, Bianca Moretti, Carlos Quintero,
Deborah Ashworth, Emeka Obi, Fiona Gallagher, Greta Lindqvist, Hugo Marchetti, Ingrid Solberg, Jamal Whitaker,
Keiko Tanabe, Liam O'Connor, Mei-Ling Zhou, Nikhil Banerjee, Olivia Prescott, Pablo Figueroa, Rachel Steinberg,
Soledad Ibarra, Thandiwe Dlamini, Umberto Greco, Valentina Rossi, Wesley Nakamura, Yara Haddad, Zainab Bello,
Adrian Popescu, Brigid Sweeney, Connor Maclean, Dalia Mansour, Ezra Lieberman, Faith Ogunleye, Giovanni Ricci,
Helena Novak, Ibrahim Sesay, June Park, Kiran Deshmukh, Lucía Núñez, Mateo Villanueva, Nora Lindgren, Oscar Bautista,
Petra Horvat, Ravi Subramanian, Simone Beaumont, Tariq Rahman, Vera Sokolova, Wren Hollis, Xavier Fontaine,
Yolanda Pierce, Zachary Cohen, Anika Gupta, Bram de Vries, Cora Whitlock, Dmitri Volkov, Esther Adeyemi,
Felix Baumgartner, Gloria Estrada, Hiro Matsuda, Ilana Katz, Joaquín Salazar, Katya Morozova, Lamar Jefferson,
Miriam Azoulay, Niamh Byrne, Orla Fitzgerald, Priscilla Yeboah, Reza Tehrani, Saoirse Kelly, Tobias Engel, Ursula Weber,
Vikram Chandra, Winnie Cheung, Yael Shapiro, Ángel Cordero, Beatriz Cardoso, Casey Littlefield, Dina Papadakis,
Elliot Marsh, Fatou Diallo, Gemma Hartley, Hasan Qureshi, Irina Stoica, Jordan Ellery, Kalani Kealoha, Lars Henriksen,
Monique Baptiste, Naveen Iyer, Ophelia Grant, Patrick Dunleavy, Renata Oliveira, Sven Karlsson, Tomoko Hayashi,
Vanessa Luna, Walter Friedman, Yasmin Karimi, Zeke Holloway, Alma Reyes, Boris Petrenko, Celeste Armstrong,
Darius Cole, Eun-ji Choi, Flora MacKenzie, Gideon Stern, Hope Lattimore, Ines Ferreira, Jerome Baptista, Kara Nielsen,
Lorenzo Conti, Mila Jovanović, Nelson Achebe, Odette Laurent, Phoebe Langley, Rohan Malhotra, Selma Aydin,
Trevor Maddox, Vivian Nguyen, Wyatt Sandoval, Yuki Fujimoto, Ziva Mizrahi, Alice Winslow, Byron Castle
"""

LEADS = """
Abigail Stone, Bashir Noor, Camille Roux, Desmond Tate, Eleni Vasilou, Frankie Donovan, Gwen Pryce, Harold Munro,
Isla Cameron, Jia Wen, Kofi Asante, Lena Brandt, Malik Shabazz, Nina Petrova, Otis Redfield, Pearl Whitcomb,
Quincy Adair, Rhea Kapoor, Santiago Mora, Tess Alder, Uri Navon, Violet Harker, Will Trent, Xiomara Peña,
Yvette Simone, Zane Merrick, Ayesha Malik, Blake Rowan, Cleo Hastings, Dario Fusco, Edith Crane, Finn Larsen,
Goldie Marks, Hamza Tariq, Ivy Castellan, Jude Barrett, Kendra Mills, Leo Antonov, Maribel Cruz, Nate Ellison,
Opal Jennings, Piotr Wojcik, Rania Saleh, Silas Boone, Theo Kostas, Una Brennan, Vince Calabrese, Willow Finch,
Yosef Almog, Zuri Kamau
"""

DOMAINS = ("example.com", "example.org", "example.net")


def members() -> list[tuple[str, str]]:
    return _pairs(MEMBERS)


def leads() -> list[tuple[str, str]]:
    return _pairs(LEADS)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [pair(" ".join(name.split())) for name in text.split(",")]


def pair(full_name: str) -> tuple[str, str]:
    first, _, last = full_name.partition(" ")
    return first, last


def mailbox(first: str, last: str) -> str:
    """The part before the @: plain letters, as people write their names when a form asks for an address."""
    plain = unicodedata.normalize("NFKD", f"{first}.{last}").encode("ascii", "ignore").decode().lower()
    return "".join(letter for letter in plain if letter.isalnum() or letter in ".-")


def email(first: str, last: str, number: int) -> str:
    return f"{mailbox(first, last)}@{DOMAINS[number % len(DOMAINS)]}"
