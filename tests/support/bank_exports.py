"""CSV exports and MT940 files in the formats of banks, written by hand: each has one received donation and one fee.

The formats (columns, signs, encodings, lines before and after) are those of the banks' exports of 2023 to 2026; the
accounts, names and numbers are made up.
"""

from dataclasses import dataclass
from typing import Final

from almoner.kit import iso11649

REFERENCE: Final = iso11649.build_creditor_reference("7ZQ3K9MABC")
SPACED: Final = iso11649.format_creditor_reference(REFERENCE)
GIFT, FEE = 123456, -1234
"""1,234.56 received with the reference, and 12.34 paid."""


@dataclass(frozen=True, slots=True)
class Export:
    """A file of a bank in a country, and the mapping that reads it; MT940 without one."""

    bank: str
    country: str
    text: str
    encoding: str = "utf-8"
    mapping: str | None = None

    @property
    def content(self) -> bytes:
        """Its bytes."""
        return self.text.encode(self.encoding)


def _mapping(columns: str, *, file: str = "", currency: str = "EUR", account: str = 'account = "Main"') -> str:
    stated = f'currency = "{currency}"' if currency else ""
    return f"{account}\n{stated}\n[file]\n{file}\n[columns]\n{columns}\n"


_DE: Final = 'delimiter = ";"\ndecimal = ","'

EXPORTS: Final = [
    Export(
        "DKB",
        "DEU",
        '"Girokonto";"DE02120300000000202051"\r\n"Kontostand vom 03.03.2026:";"1.222,22 €"\r\n""\r\n'
        '"Buchungsdatum";"Wertstellung";"Status";"Zahlungspflichtige*r";"Zahlungsempfänger*in";"Verwendungszweck";'
        '"Umsatztyp";"IBAN";"Betrag (€)";"Gläubiger-ID";"Mandatsreferenz";"Kundenreferenz"\r\n'
        '"";"";"Vorgemerkt";"Jemand";"Wir";"noch nicht";"Eingang";"DE1";"9,99";"";"";""\r\n'
        f'"02.03.26";"02.03.26";"Gebucht";"Ada Lovelace";"Wir";"Spende {SPACED}";"Eingang";"DE1";"1.234,56";"";"";""\r\n'
        '"03.03.26";"03.03.26";"Gebucht";"Wir";"DKB";"Entgelt";"Ausgang";"DE2";"-12,34";"";"";"ENTGELT1"\r\n',
        "utf-8-sig",
        _mapping(
            'day = { column = "Buchungsdatum", format = ["%d.%m.%y", "%d.%m.%Y"] }\namount = "Betrag (€)"\n'
            'booked = { column = "Status", true = ["Gebucht"] }\ncounterparty = "Zahlungspflichtige*r"\n'
            'words = { columns = ["Verwendungszweck", "Kundenreferenz"] }',
            file=_DE,
        ),
    ),
    Export(
        "ING",
        "DEU",
        "Umsatzanzeige;Datei erstellt am: 03.03.2026 10:00\n\nIBAN;DE02 5001 0517 5407 3249 31\nKontoname;Girokonto\n"
        "Bank;ING\nKunde;Verein\nZeitraum;01.03.2026 - 03.03.2026\nSaldo;1.222,22;EUR\n\nSortierung;Datum absteigend\n\n"
        "In der CSV-Datei finden Sie alle bereits gebuchten Umsätze. Die vorgemerkten Umsätze werden nicht aufgenommen.\n\n"
        "Buchung;Wertstellungsdatum;Auftraggeber/Empfänger;Buchungstext;Verwendungszweck;Saldo;Währung;Betrag;Währung\n"
        "03.03.2026;03.03.2026;ING;Entgelt;Kontoführung;1.222,22;EUR;-12,34;EUR\n"
        f"02.03.2026;02.03.2026;Ada Lovelace;Gutschrift;{REFERENCE.lower()};1.234,56;EUR;1.234,56;EUR\n",
        "latin-1",
        _mapping(
            'day = { column = "Buchung", format = "%d.%m.%Y" }\namount = "Betrag"\ncurrency = "Währung (2)"\n'
            'words = "Verwendungszweck"\ncounterparty = "Auftraggeber/Empfänger"',
            file=_DE + '\nencoding = "iso-8859-1"',
        ),
    ),
    Export(
        "Deutsche Bank",
        "DEU",
        "Umsätze Girokonto;;;;;\r\n2.3.2026 - 3.3.2026\r\nAlter Kontostand;;;;;0,00;EUR\r\n"
        "Buchungstag;Wert;Umsatzart;Begünstigter / Auftraggeber;Verwendungszweck;IBAN;Kundenreferenz;Soll;Haben;Währung\r\n"
        f"2.3.2026;2.3.2026;SEPA-Gutschrift;Ada Lovelace;{SPACED};DE1;NOTPROVIDED;;1.234,56;EUR\r\n"
        "3.3.2026;3.3.2026;Entgelt;Deutsche Bank;Entgelt;DE2;;-12,34;;EUR\r\n"
        "Kontostand;3.3.2026;;;;;;;1.222,22;EUR\r\n",
        "utf-8-sig",
        _mapping(
            'day = { column = "Buchungstag", format = "%d.%m.%Y" }\ndebit = "Soll"\ncredit = "Haben"\n'
            'words = "Verwendungszweck"\nend_to_end_id = "Kundenreferenz"',
            file=_DE,
        ),
    ),
    Export(
        "Sparkasse",
        "DEU",
        '"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";"Glaeubiger ID";"Mandatsreferenz";'
        '"Kundenreferenz (End-to-End)";"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"Betrag";"Waehrung";"Info"\r\n'
        f'"DE02";"02.03.26";"02.03.26";"GUTSCHR. UEBERWEISUNG";"SPENDE MÜLLER";"";"";"{REFERENCE}";"Müller, Eva";"DE1";'
        '"1234,56";"EUR";"Umsatz gebucht"\r\n'
        '"DE02";"03.03.26";"03.03.26";"ENTGELTABSCHLUSS";"Entgelte";"";"";"";"";"";"-12,34";"EUR";"Umsatz gebucht"\r\n'
        '"DE02";"03.03.26";"";"LASTSCHRIFT";"kommt";"";"";"";"";"";"-1,00";"EUR";"Umsatz vorgemerkt"\r\n',
        "latin-1",
        _mapping(
            'day = { column = "Buchungstag", format = "%d.%m.%y" }\namount = "Betrag"\nwords = "Verwendungszweck"\n'
            'end_to_end_id = "Kundenreferenz (End-to-End)"\nbooked = { column = "Info", true = ["Umsatz gebucht"] }',
            file=_DE + '\nencoding = "latin-1"',
        ),
    ),
    Export(
        "Volksbank",
        "DEU",
        "Volksbank eG\r\n\r\nUmsatzanzeige\r\n\r\nBLZ:;10090000\r\nKonto:;1234567890\r\nVon:;01.03.2026\r\n\r\n"
        '"Buchungstag";"Valuta";"Auftraggeber/Zahlungsempfänger";"Vorgang/Verwendungszweck";"Währung";"Umsatz";""\r\n'
        f'"02.03.2026";"02.03.2026";"Ada Lovelace";"Gutschrift {SPACED[:12]}\r\n{SPACED[12:]}";"EUR";"1.234,56";"H"\r\n'
        '"03.03.2026";"03.03.2026";"Volksbank";"Entgelt";"EUR";"12,34";"S"\r\n'
        '"02.03.2026";"";"";"Anfangssaldo";"EUR";"0,00";"H"\r\n"";"";"";"Endsaldo";"EUR";"1.222,22";"H"\r\n',
        "cp1252",
        _mapping(
            'day = { column = "Buchungstag", format = "%d.%m.%Y" }\namount = "Umsatz"\n'
            'incoming = { column = "7", true = ["H"], false = ["S"] }\nwords = "Vorgang/Verwendungszweck"',
            file=_DE,
        ),
    ),
    Export(
        "Commerzbank",
        "DEU",
        "Buchungstag;Wertstellung;Umsatzart;Buchungstext;Betrag;Währung;IBAN Kontoinhaber;Kategorie\r\n"
        f"02.03.2026;02.03.2026;Gutschrift;Ada Lovelace {SPACED} End-to-End-Ref.: NOTPROVIDED;1234,56;EUR;DE02;\r\n"
        "03.03.2026;03.03.2026;Zinsen/Entgelte;Kontoführung 9,90- Porto 2,44-;-12,34;EUR;DE02;\r\n",
        "utf-8-sig",
        _mapping(
            'day = { column = "Buchungstag", format = "%d.%m.%Y" }\namount = "Betrag"\nwords = "Buchungstext"', file=_DE
        ),
    ),
    Export(
        "N26",
        "DEU",
        '"Booking Date","Value Date","Partner Name","Partner Iban",Type,"Payment Reference","Amount (EUR)"\n'
        f'2026-03-02,2026-03-02,"Ada Lovelace",DE1,"Credit Transfer","gift {REFERENCE}",1234.56\n'
        '2026-03-03,2026-03-03,"N26",,Fee,"",-12.34\n',
        mapping=_mapping(
            'day = { column = "Booking Date", format = "%Y-%m-%d" }\namount = "Amount (EUR)"\nwords = "Payment Reference"'
        ),
    ),
    Export(
        "ING",
        "NLD",
        '"Datum";"Naam / Omschrijving";"Rekening";"Tegenrekening";"Code";"Af Bij";"Bedrag (EUR)";"Mutatiesoort";'
        '"Mededelingen";"Saldo na mutatie";"Tag"\n'
        f'"20260302";"Ada";"NL91ABNA0417164300";"NL1";"OV";"Bij";"1234,56";"Overschrijving";"{SPACED}";"1234,56";""\n'
        '"20260303";"ING";"NL91ABNA0417164300";"";"DV";"Af";"12,34";"Diversen";"Kosten";"1222,22";""\n',
        mapping=_mapping(
            'day = { column = "Datum", format = "%Y%m%d" }\namount = "Bedrag (EUR)"\naccount = "Rekening"\n'
            'incoming = { column = "Af Bij", true = ["Bij", "Credit"], false = ["Af", "Debit"] }\nwords = "Mededelingen"',
            file=_DE,
            account="",
        ),
    ),
    Export(
        "Rabobank",
        "NLD",
        '"IBAN/BBAN","Munt","BIC","Volgnr","Datum","Rentedatum","Bedrag","Saldo na trn","Tegenrekening IBAN/BBAN",'
        '"Naam tegenpartij","Omschrijving-1","Omschrijving-2","Omschrijving-3"\r\n'
        f'"NL91ABNA0417164300","EUR","RABONL2U","000000000000000001","2026-03-02","2026-03-02","+1234,56","+1234,56","NL1",'
        f'"Ada Lovelace","Gift {REFERENCE[:8]}","{REFERENCE[8:]}",""\r\n'
        '"NL91ABNA0417164300","EUR","RABONL2U","000000000000000002","2026-03-03","2026-03-03","-12,34","+1222,22","",'
        '"Rabobank","Kosten","",""\r\n',
        "latin-1",
        _mapping(
            'day = { column = "Datum", format = "%Y-%m-%d" }\namount = "Bedrag"\nreference = "Volgnr"\n'
            'currency = "Munt"\nwords = { columns = ["Omschrijving-1", "Omschrijving-2", "Omschrijving-3"], join = "" }',
            file='decimal = ","',
        ),
    ),
    Export(
        "Knab",
        "NLD",
        "KNAB EXPORT;;;;;;\nRekeningnummer;Transactiedatum;Valutacode;CreditDebet;Bedrag;Tegenrekeningnummer;Omschrijving;Referentie\n"
        f"NL1;02-03-2026;EUR;C;1234,56;NL2;{SPACED};C6B02ALG00002A\nNL1;03-03-2026;EUR;D;12,34;NL2;Kosten;C6B03ALG00002B\n",
        mapping=_mapping(
            'day = { column = "Transactiedatum", format = "%d-%m-%Y" }\namount = "Bedrag"\nreference = "Referentie"\n'
            'incoming = { column = "CreditDebet", true = ["C"], false = ["D"] }\nwords = "Omschrijving"',
            file=_DE,
        ),
    ),
    Export(
        "ABN AMRO",
        "NLD",
        f"417164300\tEUR\t20260302\t0,00\t1234,56\t20260302\t1234,56\t/TRTP/SEPA OVERBOEKING/NAME/ADA/REMI/{REFERENCE}\n"
        "417164300\tEUR\t20260303\t1234,56\t1222,22\t20260303\t-12,34\tABN AMRO Bank N.V. kosten\n",
        mapping=_mapping(
            'day = { column = "3", format = "%Y%m%d" }\namount = "7"\nwords = "8"',
            file='delimiter = "\\t"\ndecimal = ","\nheader = false',
        ),
    ),
    Export(
        "KBC",
        "BEL",
        "Rekeningnummer;Rubrieknaam;Naam;Munt;Afschriftnummer;Datum;Omschrijving;Valuta;Bedrag;Saldo;credit;debet;"
        "rekeningnummer tegenpartij;Naam tegenpartij;gestructureerde mededeling;Vrije mededeling\n"
        f"BE1;;VZW;EUR; 02026003;02/03/2026;OVERSCHRIJVING VAN;02/03/2026;1234,56;1234,56;1234,56;;BE2;ADA;;{SPACED}\n"
        "BE1;;VZW;EUR; 02026003;03/03/2026;KOSTEN;03/03/2026;-12,34;1222,22;;-12,34;;;***123/4567/89002***;\n",
        mapping=_mapping(
            'day = { column = "Datum", format = "%d/%m/%Y" }\ndebit = "debet"\ncredit = "credit"\n'
            'words = { columns = ["gestructureerde mededeling", "Vrije mededeling"] }',
            file=_DE,
        ),
    ),
    Export(
        "Erste Bank",
        "AUT",
        "Buchungsdatum;Partnername;Partner IBAN;Betrag;Währung;Buchungs-Details;Valutadatum;Buchungsreferenz\r\n"
        f"02.03.2026;Ada Lovelace;AT1;1.234,56;EUR;{SPACED};02.03.2026;201112603022AB3-00AAB0000001\r\n"
        "03.03.2026;Erste Bank;;-12,34;EUR;Entgelt;03.03.2026;201112603032AB3-00AAB0000002\r\n",
        "utf-16",
        _mapping(
            'day = { column = "Buchungsdatum", format = "%d.%m.%Y" }\namount = "Betrag"\nwords = "Buchungs-Details"\n'
            'reference = "Buchungsreferenz"',
            file=_DE,
        ),
    ),
    Export(
        "Raiffeisen",
        "AUT",
        f"02.03.2026;{SPACED} Ada Lovelace;02.03.2026;1.234,56;EUR;02.03.2026 10:11:12:345\r\n"
        "03.03.2026;Entgelt;03.03.2026;-12,34;EUR;03.03.2026 01:02:03:004\r\n",
        mapping=_mapping(
            'day = { column = "1", format = "%d.%m.%Y" }\namount = "4"\nwords = "2"', file=_DE + "\nheader = false"
        ),
    ),
    Export(
        "UBS",
        "CHE",
        "Kontonummer:;0234 00123456.01;\nIBAN:;CH93 0076 2011 6238 5295 7;\nVon:;2026-03-01;\nBis:;2026-03-03;\n"
        "Anfangssaldo:;0.00;\nSchlusssaldo:;1222.22;\nBewertet in:;CHF;\nAnzahl Transaktionen:;2;\n\n"
        "Abschlussdatum;Buchungsdatum;Währung;Belastung;Gutschrift;Saldo;Transaktions-Nr.;Beschreibung1;Beschreibung3\n"
        f'2026-03-02;2026-03-02;CHF;;1\'234.56;1\'234.56;9930061TI1234567;"Ada Lovelace";"Mitteilung: {SPACED}"\n'
        '2026-03-03;2026-03-03;CHF;-12.34;;1\'222.22;9930061TI1234568;"Dienstleistungspreis";""\n',
        "utf-8-sig",
        _mapping(
            'day = { column = "Buchungsdatum", format = "%Y-%m-%d" }\ndebit = "Belastung"\ncredit = "Gutschrift"\n'
            'reference = "Transaktions-Nr."\nwords = { columns = ["Beschreibung1", "Beschreibung3"] }',
            file='delimiter = ";"',
            currency="CHF",
        ),
    ),
    Export(
        "ZKB",
        "CHE",
        '"Datum";"Buchungstext";"Whg";"Betrag Detail";"ZKB-Referenz";"Referenznummer";"Belastung CHF";"Gutschrift CHF";'
        '"Valuta";"Saldo CHF"\r\n'
        '"03.03.2026";"Belastungen eBanking (2)";"";"";"L260303E000001";"";"12.34";"";"03.03.2026";"1222.22"\r\n'
        '"";"Verein A";"CHF";"10.00";"";"";"";"";"";""\r\n"";"Verein B";"CHF";"2.34";"";"";"";"";"";""\r\n'
        f'"02.03.2026";"Gutschrift: Ada Lovelace";"";"";"Z260302E000002";"{REFERENCE}";"";"1234.56";"02.03.2026";"1234.56"\r\n',
        "utf-8-sig",
        _mapping(
            'day = { column = "Datum", format = "%d.%m.%Y" }\ndebit = "Belastung CHF"\ncredit = "Gutschrift CHF"\n'
            'reference = "ZKB-Referenz"\nwords = { columns = ["Buchungstext", "Referenznummer"] }',
            file='delimiter = ";"',
            currency="CHF",
        ),
    ),
    Export(
        "Lloyds",
        "GBR",
        "Transaction Date,Transaction Type,Sort Code,Account Number,Transaction Description,Debit Amount,Credit Amount,Balance\n"
        "03/03/2026,PAY,'30-00-00,12345678,SERVICE CHARGES,12.34,,1222.22\n"
        f"02/03/2026,FPI,'30-00-00,12345678,LOVELACE A {REFERENCE},,1234.56,1234.56\n",
        mapping=_mapping(
            'day = { column = "Transaction Date", format = "%d/%m/%Y" }\ndebit = "Debit Amount"\n'
            'credit = "Credit Amount"\nwords = "Transaction Description"\n'
            'account = { columns = ["Sort Code", "Account Number"], join = "", remove = "\'-" }',
            currency="GBP",
            account="",
        ),
    ),
    Export(
        "Barclays",
        "GBR",
        "Number,Date,Account,Amount,Subcategory,Memo\n"
        f" ,02/03/2026,20-00-00 12345678,1234.56,Counter Credit,ADA LOVELACE           \t{SPACED} BGC\n"
        " ,03/03/2026,20-00-00 12345678,-12.34,Debit,CHARGES                \tFEE\n",
        mapping=_mapping(
            'day = { column = "Date", format = "%d/%m/%Y" }\namount = "Amount"\nwords = "Memo"', currency="GBP"
        ),
    ),
    Export(
        "Starling",
        "GBR",
        "Date,Counter Party,Reference,Type,Amount (GBP),Balance (GBP),Spending Category,Notes\n"
        f"02/03/2026,Ada Lovelace,{REFERENCE},FASTER PAYMENT,1234.56,1234.56,INCOME,\n"
        "03/03/2026,Starling,Fee,FEE,-12.34,1222.22,BILLS,\n",
        mapping=_mapping(
            'day = { column = "Date", format = "%d/%m/%Y" }\namount = "Amount (GBP)"\nwords = "Reference"\n'
            'counterparty = "Counter Party"',
            currency="GBP",
        ),
    ),
    Export(
        "Wise",
        "GBR",
        '"TransferWise ID",Date,Amount,Currency,Description,"Payment Reference"\n'
        f"TRANSFER-1,02-03-2026,1234.56,GBP,Received money from Ada,{SPACED}\n"
        "FEE-2,03-03-2026,-12.34,GBP,Wise Charges,\nTRANSFER-3,03-03-2026,5.00,EUR,other balance,\n",
        mapping=_mapping(
            'day = { column = "Date", format = "%d-%m-%Y" }\namount = "Amount"\ncurrency = "Currency"\n'
            'reference = "TransferWise ID"\nwords = "Payment Reference"',
            currency="GBP",
        ),
    ),
    Export(
        "mBank",
        "POL",
        "mBank S.A. Bankowość Detaliczna;\nSkrytka Pocztowa 2108;\n\n#Klient;\nFUNDACJA;\n\n#Za okres:;\n01.03.2026;03.03.2026;\n\n"
        "#Data operacji;#Data księgowania;#Opis operacji;#Tytuł;#Nadawca/Odbiorca;#Numer konta;#Kwota;#Saldo po operacji;\n"
        f'2026-03-02;2026-03-02;PRZELEW;"{SPACED}";"ADA ŁÓDŹ";\'1\';1 234,56 PLN;1 234,56;\n'.replace(
            "1 234", "1\u00a0234"
        )
        + '2026-03-03;2026-03-03;OPŁATA;"";"";\'\';-12,34 PLN;1 222,22;\n\n;;;;;;#Saldo końcowe;1 222,22 PLN;\n',
        "cp1250",
        _mapping(
            'day = { column = "#Data księgowania", format = "%Y-%m-%d" }\namount = "#Kwota"\nwords = "#Tytuł"\n'
            'counterparty = "#Nadawca/Odbiorca"',
            file=_DE + '\nencoding = "windows-1250"',
            currency="PLN",
        ),
    ),
    Export(
        "Handelsbanken",
        "SWE",
        "Kontonamn;Företagskonto\nKontonummer;123 456 789\nSaldo;1 222,22\n\n"
        "Reskontradatum;Transaktionsdatum;Text;Belopp;Saldo\n"
        f"2026-03-02;2026-03-02;{REFERENCE};1\u00a0234,56;1\u00a0234,56\n2026-03-03;2026-03-03;Avgift;\u221212,34;1\u00a0222,22\n",
        mapping=_mapping(
            'day = { column = "Reskontradatum", format = "%Y-%m-%d" }\namount = "Belopp"\nwords = "Text"',
            file=_DE,
            currency="SEK",
        ),
    ),
    Export(
        "Bank of America",
        "USA",
        'Description,,Summary Amt.\nBeginning balance as of 03/01/2026,,"0.00"\nTotal credits,,"1,234.56"\n'
        'Total debits,,"-12.34"\nEnding balance as of 03/03/2026,,"1,222.22"\n\n'
        'Date,Description,Amount,Running Bal.\n03/01/2026,Beginning balance as of 03/01/2026,,"0.00"\n'
        f'03/02/2026,"WIRE IN {SPACED}","1,234.56","1,234.56"\n03/03/2026,"FEE","-12.34","1,222.22"\n'.replace(
            "03/01/2026,Beginning", ",Beginning"
        ),
        mapping=_mapping(
            'day = { column = "Date", format = "%m/%d/%Y" }\namount = "Amount"\nwords = "Description"', currency="USD"
        ),
    ),
    Export(
        "Wells Fargo",
        "USA",
        f'"03/02/2026","1234.56","*","","ACH CREDIT {REFERENCE}"\n"03/03/2026","-12.34","*","","MONTHLY FEE"\n',
        mapping=_mapping(
            'day = { column = "1", format = "%m/%d/%Y" }\namount = "2"\nwords = "5"',
            file="header = false",
            currency="USD",
        ),
    ),
    Export(
        "Swedbank",
        "LVA",
        '"Klienta konts";"Ieraksta tips";"Datums";"Saņēmējs/Maksātājs";"Informācija saņēmējam";"Summa";"Valūta";'
        '"Debets/Kredīts";"Arhīva kods"\n'
        '"LV1";"10";"01.03.2026";"";"Sākuma atlikums";"0,00";"EUR";"K";""\n'
        f'"LV1";"20";"02.03.2026";"Ada";"{SPACED}";"1234,56";"EUR";"K";"2026030200001"\n'
        '"LV1";"20";"03.03.2026";"";"Komisija";"12,34-";"EUR";"";"2026030300001"\n',
        mapping=_mapping(
            'day = { column = "Datums", format = "%d.%m.%Y" }\namount = "Summa"\nreference = "Arhīva kods"\n'
            'words = "Informācija saņēmējam"\nbooked = { column = "Ieraksta tips", true = ["20"] }',
            file=_DE,
        ),
    ),
    Export(
        "PayPal",
        "LUX",
        '"Datum","Uhrzeit","Name","Typ","Status","Währung","Brutto","Gebühr","Netto","Transaktionscode","Betreff"\n'
        f'"02.03.2026","10:00:00","Ada","Spende","Abgeschlossen","EUR","1.250,00","-15,44","1.234,56","1AB","{SPACED}"\n'
        '"03.03.2026","11:00:00","","Gebühr","Abgeschlossen","EUR","-12,34","0,00","-12,34","2AB",""\n'
        '"03.03.2026","12:00:00","Bob","Spende","Ausstehend","EUR","5,00","0,00","5,00","3AB",""\n',
        "utf-8-sig",
        _mapping(
            'day = { column = "Datum", format = "%d.%m.%Y" }\namount = "Netto"\nreference = "Transaktionscode"\n'
            'words = "Betreff"\nbooked = { column = "Status", true = ["Abgeschlossen"] }',
            file='decimal = ","',
        ),
    ),
    Export(
        "Commerzbank",
        "DEU",
        ":20:STARTUMSE\r\n:25:37040044/0532013000\r\n:28C:00042/001\r\n:60F:C260227EUR0,00\r\n"
        ":61:2603020302CR1234,56N062NONREF//COBA2603020001\r\n"
        f":86:166?00GUTSCHR. UEBERWEISUNG?109310?20EREF+NOTPROVIDED?21SVWZ+Spende fuer {SPACED[:9]}\r\n"
        f"?22{SPACED[9:]}?30COBADEFF?31DE1?32LOVELACE,?33 ADA?34\r\n"
        "000\r\n:61:2603030303DR12,34NCHGNONREF\r\n:86:805?00ENTGELT?20Abschluss\r\n:62F:C260303EUR1222,22\r\n-\r\n",
        "cp1252",
    ),
    Export(
        "Sparkasse",
        "DEU",
        ":20:STARTUMS\n:25:37040044/532013000EUR\n:28C:0\n:60F:C260227EUR0,\n:61:2603020302CR\n1234,56N062NONREF\n:\n"
        f"86:166?00GUTSCHR?20SVWZ+{REFERENCE}?32ADA\n:61:260303D12,34N026NONREF\n:86:\n:62F:C260303EUR1222,22\n",
    ),
    Export(
        "ING",
        "NLD",
        "{1:F01INGBNL2ABXXX0000000000}{2:I940INGBNL2AXBXXX}{4:\n:20:P260303000000001\n:25:NL91ABNA0417164300EUR\n:28C:00061\n"
        ":60F:C260301EUR0,00\n:61:2603020302C1234,56NTRFEREF//00000000001005\n/TRCD/00100/\n"
        f":86:/EREF/GIFT-1//CNTP/NL32INGB0000012345/INGBNL2A/ADA LOVELACE///REMI/USTD//Gift {REFERENCE[:10]}\n"
        f"{REFERENCE[10:]}/\n:61:2603030303D12,34NCHGNONREF//00000000001006\n:86:/REMI/USTD//Kosten/\n"
        ":62F:C260303EUR1222,22\n-}\n",
    ),
    Export(
        "Rabobank",
        "NLD",
        ":940:\n:20:940S260303\n:25:NL91ABNA0417164300 EUR\n:28C:0\n:60F:C260301EUR000000000000,00\n"
        ":61:260302C000000001234,56N102EREF\nNL70ABNA0987654321\n"
        f":86:/EREF/{REFERENCE}/ORDP//NAME/ADA LOVEL\nACE/REMI//ISDT/2026-03-02\n"
        ":61:260303D000000000012,34N030NONREF\n:86:Kosten\n:62F:C260303EUR000000001222,22\n",
    ),
    Export(
        "PostFinance",
        "CHE",
        ":20:2026030308285927\n:25:CH9300762011623852957\n:28C:9/1\n:60F:C260228CHF0,\n:61:2603020302C1234,56FMSC01916//NONREF\n"
        "20260302007602198765432000000012\n:86:GIRO AUS ONLINE-SIC 80532 AUFTRAGGEBER: ADA LOVELACE EXAMPLESTRASSE\n"
        f" 10 1234 XXXX MITTEILUNGEN: {SPACED[:7]}\n{SPACED[7:]}\n:61:2603030303D12,34FMSCNONREF//NONREF\n"
        "20260303816204000100125000000012\n:86:PREIS\n:62F:C260303CHF1222,22\n-\n",
    ),
    Export(
        "mBank",
        "POL",
        "\x01\n:20:ST260303CYC/1\n:25:PL29114010810000267002001002\n:28C:3/1\n:60F:C260301PLN0,00\n"
        ":61:2603020302CN1234,56NTRFNONREF//MB260302012058\n911-TRANSAKCJA\n:86:911 TRANSAKCJA COLLECT; Z RACH.: \n"
        f"56114010810000267002001001; OD: ADA NOWAK  \nUL. NIJAKA 1 31-234 KRAKOW; TYT.: {SPACED[:5]}\n{SPACED[5:]}   ; \n"
        "TNR: 179171073864111.010001\n:61:2603030303DN12,34NCHGNONREF//MB260303012059\n:86:OPLATA\n:62F:C260303PLN1222,22\n-\x03\n",
        "cp1250",
    ),
    Export(
        "Barclays",
        "GBR",
        ":20:STATEMENT\n:25:20000012345678\n:28C:44/1\n:60F:C260301GBP0,00\n"
        f":61:2603020302C1234,56NTRF{REFERENCE}//BIPI-dvT1abcdefghijklmnopq\n"
        ":61:2603030303RC12,34NMSCNONREF//BIPI-dvT1abcdefghijklmnopr\nCORRECTION\n:62F:C260303GBP1222,22\n-\n",
    ),
    Export(
        "Citi",
        "USA",
        ":20:A\n:25:123456789\n:28:1/1\n:60F:C260301USD0,00\n:61:260302    CD1234,56NMSCNONREF//\n/ABC/DEF/MISCELLANEOUS\n"
        f":86:/PT/FT/PY/GIFT {SPACED}\n:61:260303    DD12,34NCHGNONREF//\n/FEE\n:61:260303    CD0,00NDEFNONREF//\n"
        "/ABC/DEF/C 37897,00 BAI CD 025\n:62F:C260303USD1222,22\n:64:C260303USD1222,22\n-\n",
    ),
]
